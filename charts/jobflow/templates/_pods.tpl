{{/* The image, by digest where one is given. */}}
{{- define "jobflow.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What the Pod Security Standard "restricted" asks of a Pod. */}}
{{- define "jobflow.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* And of a container, with a root file system that nobody writes to. */}}
{{- define "jobflow.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Labels and annotations of a component's Pods. Takes (dict "root" . "component" "webhook"). */}}
{{- define "jobflow.podMetadata" -}}
{{- $values := index .root.Values .component -}}
labels:
  {{- $labels := include "jobflow.labels" (list .root .component) | fromYaml }}
  {{- toYaml (merge (dict) $labels $values.podLabels) | nindent 2 }}
{{- with merge (dict) $values.podAnnotations .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where a component's Pods run, and by which account. Takes (dict "root" . "component" "webhook"). */}}
{{- define "jobflow.placement" -}}
{{- $values := index .root.Values .component -}}
serviceAccountName: {{ include "jobflow.serviceAccount" (list .root .component) }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{ include "jobflow.podSecurity" .root }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Replicas on different nodes and zones, as far as that can be had. Takes (dict "root" . "component" "webhook"). */}}
{{- define "jobflow.spread" -}}
{{- $values := index .root.Values .component -}}
topologySpreadConstraints:
{{- if kindIs "slice" $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "jobflow.selector" (list $.root $.component) | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Image and command of a container. Takes (list . "controller"), the module that Python runs. */}}
{{- define "jobflow.program" -}}
{{- $root := index . 0 -}}
image: {{ include "jobflow.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
command: [python, -m, {{ index . 1 }}]
{{- end -}}

{{/* The flags that both programs have. Takes the values of the component. */}}
{{- define "jobflow.commonFlags" -}}
- --v={{ .logLevel }}
- --kube-api-qps={{ .kubeApi.qps }}
- --kube-api-burst={{ .kubeApi.burst }}
- --healthz-address=:{{ .ports.probes }}
- --metrics-address=:{{ .ports.metrics }}
{{- end -}}

{{/* Probes: the process may be slow to start where images are, and is restarted only if it is really stuck. */}}
{{- define "jobflow.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}

{{/* A Pod that runs `python -m certs` once. Takes (dict "root" . "action" "apply"). */}}
{{- define "jobflow.certsPod" -}}
metadata:
  {{- include "jobflow.podMetadata" (dict "root" .root "component" "certs") | nindent 2 }}
spec:
  restartPolicy: OnFailure
  {{- include "jobflow.placement" (dict "root" .root "component" "certs") | nindent 2 }}
  containers:
    - name: certs
      {{- include "jobflow.program" (list .root "certs") | nindent 6 }}
      args:
        - {{ .action }}
        - --namespace={{ .root.Release.Namespace }}
        - --secret={{ include "jobflow.fullname" .root }}-webhook-tls
        - --ca-secret={{ include "jobflow.fullname" .root }}-webhook-ca
        - --webhook-configuration={{ include "jobflow.fullname" .root }}-webhook
        - --v={{ .root.Values.certs.logLevel }}
        {{- if eq .action "apply" }}
        - --dns-name={{ include "jobflow.dnsNames" .root }}
        {{- range .root.Values.certs.extraArgs }}
        - {{ . | quote }}
        {{- end }}
        {{- end }}
      {{- with .root.Values.certs.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .root.Values.certs.resources | nindent 8 }}
      {{- include "jobflow.containerSecurity" .root | nindent 6 }}
{{- end -}}
