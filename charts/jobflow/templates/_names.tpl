{{/*
The name that all objects begin with: at most 40 characters, so that the longest suffix, of 12, still fits into the 52
of a CronJob. It is a DNS-1035 label, as Services need it, whatever Helm takes for a release name: no dots, a letter
first. What had to be changed for that ends in a hash of what it was, so that no two releases come to share it.
*/}}
{{- define "jobflow.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $wanted := .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{- $wanted = .Values.fullnameOverride -}}
{{- else if not (contains $chart .Release.Name) -}}
{{- $wanted = printf "%s-%s" .Release.Name $chart -}}
{{- end -}}
{{- $name := replace "." "-" $wanted -}}
{{- if regexMatch "^[0-9]" $name -}}
{{- $name = printf "j%s" $name -}}
{{- end -}}
{{- if or (ne $name $wanted) (gt (len $name) 40) -}}
{{- printf "%s-%s" (trunc 31 $name | trimSuffix "-") (sha256sum $wanted | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* What selects the Pods of a component; never changes once installed. Takes (list . "webhook"). */}}
{{- define "jobflow.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The labels of every object. Takes (list . "webhook"). */}}
{{- define "jobflow.labels" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.commonLabels }}
{{- toYaml . }}
{{ end -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "jobflow.selector" . }}
app.kubernetes.io/part-of: jobflow
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end -}}

{{/* Name, labels and annotations of an object. Takes (dict "root" . "component" "webhook" "name" NAME "annotations" MAP). */}}
{{- define "jobflow.metadata" -}}
name: {{ .name }}
labels:
  {{- $labels := include "jobflow.labels" (list .root .component) | fromYaml }}
  {{- toYaml (merge (dict) (default dict .labels) $labels) | nindent 2 }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The same for an object of the release's namespace. */}}
{{- define "jobflow.namespaced" -}}
{{ include "jobflow.metadata" . }}
namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* The ServiceAccount of a component. Takes (list . "webhook"). */}}
{{- define "jobflow.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- $account := (index $root.Values (index . 1)).serviceAccount -}}
{{- default (printf "%s-%s" (include "jobflow.fullname" $root) (index . 1)) $account.name -}}
{{- end -}}

{{/* The Secret that the webhook's certificate lies in. */}}
{{- define "jobflow.tlsSecret" -}}
{{- if eq .Values.certs.mode "provided" -}}
{{- $own := printf "%s-webhook-" (include "jobflow.fullname" .) -}}
{{- if has .Values.certs.provided.secretName (list (printf "%stls" $own) (printf "%sca" $own)) -}}
{{- fail (printf "certs.provided.secretName: %s is deleted with the release, so give your Secret another name" .Values.certs.provided.secretName) -}}
{{- end -}}
{{- required "certs.provided.secretName: with certs.mode provided, name the Secret of type kubernetes.io/tls that has the webhook's certificate" .Values.certs.provided.secretName -}}
{{- else -}}
{{- include "jobflow.fullname" . }}-webhook-tls
{{- end -}}
{{- end -}}

{{/* The names that the API server may know the webhook by, separated by commas; the first is the one that it uses. */}}
{{- define "jobflow.dnsNames" -}}
{{- $service := printf "%s-webhook.%s" (include "jobflow.fullname" .) .Release.Namespace -}}
{{- $names := list (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service) -}}
{{- if .Values.webhook.url -}}
{{- $names = append $names (regexReplaceAll ":[0-9]*$" (urlParse .Values.webhook.url).host "") -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
