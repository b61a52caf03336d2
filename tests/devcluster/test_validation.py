import pytest

from devcluster.validation import finalizer_warnings, malformed_metadata, validate_metadata, validate_metadata_update

GOOD = {"name": "ml", "namespace": "default", "resourceVersion": "1", "uid": "u"}
OWNER = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "name": "ml", "uid": "u"}
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"
LABEL = "a lowercase RFC 1123 label must consist of"
QUALIFIED = "name part must consist of alphanumeric characters"


def faults(kind="JobFlow", namespaced=True, **meta):
    found = validate_metadata({"kind": kind, "metadata": {**GOOD, **meta}}, namespaced=namespaced)
    return [(one.field.removeprefix("metadata."), one.message) for one in found]


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"name": "a.b-c.d"},
        {"name": "a" * 253},
        {"generateName": "ml-"},
        {"labels": {"app": "x", "example.com/a_b.c": "", "x": "A.b_c-9"}},
        {"annotations": {"Example.com/UPPER": "any text\nat all"}},
        {"ownerReferences": [OWNER, {**OWNER, "controller": True}]},
        {"finalizers": ["example.com/x", "foregroundDeletion"]},
    ],
)
def test_right_metadata_has_no_fault(meta):
    assert faults(**meta) == []


@pytest.mark.parametrize(
    ("meta", "field", "words"),
    [
        ({"name": "ML"}, "name", f'Invalid value: "ML": {SUBDOMAIN}'),
        ({"name": "a\n"}, "name", f'Invalid value: "a\\n": {SUBDOMAIN}'),
        ({"name": "a" * 254}, "name", f'Invalid value: "{"a" * 254}": must be no more than 253 characters'),
        ({"name": ""}, "name", "Required value: name or generateName is required"),
        ({"generateName": "Ml-"}, "generateName", f'Invalid value: "Ml-": {SUBDOMAIN}'),
        ({"namespace": ""}, "namespace", "Required value"),
        ({"namespace": "a.b"}, "namespace", f'Invalid value: "a.b": {LABEL}'),
        ({"labels": {"-a": "x"}}, "labels", f'Invalid value: "-a": {QUALIFIED}'),
        ({"labels": {"/a": "x"}}, "labels", 'Invalid value: "/a": prefix part must be non-empty'),
        ({"labels": {"a/b/c": "x"}}, "labels", 'Invalid value: "a/b/c": a valid label key must consist of'),
        ({"labels": {"B_/a": "x"}}, "labels", f'Invalid value: "B_/a": prefix part {SUBDOMAIN}'),
        (
            {"labels": {"a": "b c"}},
            "labels",
            'Invalid value: "b c": a valid label must be an empty string or consist of',
        ),
        ({"labels": {"a": "x" * 64}}, "labels", f'Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
        ({"annotations": {"a b": "x"}}, "annotations", f'Invalid value: "a b": {QUALIFIED}'),
        ({"annotations": {"a": "x" * 2**18}}, "annotations", "Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["a b"]}, "finalizers", f'Invalid value: "a b": {QUALIFIED}'),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "finalizers",
            'Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be',
        ),
        ({"ownerReferences": [{**OWNER, "uid": ""}]}, "ownerReferences.uid", 'Invalid value: "": must not be empty'),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "flow/"}]},
            "ownerReferences.apiVersion",
            'Invalid value: "flow/": version must not be empty',
        ),
    ],
)
def test_a_fault_is_told_with_its_field(meta, field, words):
    [(where, message)] = faults(**meta)

    assert where == field
    assert message.startswith(words)


def test_an_object_has_one_controller():
    owners = [{**OWNER, "controller": True}, {**OWNER, "name": "b", "controller": True}]

    [(field, message)] = faults(ownerReferences=owners)

    assert field == "ownerReferences"
    assert message.endswith('Found "true" in references for JobFlow/ml and JobFlow/b')


def test_kinds_have_their_own_rules_for_names():
    assert faults("Namespace", namespaced=False, namespace="", name="a.b")[0][1].startswith(
        f'Invalid value: "a.b": {LABEL}'
    )
    assert faults("Role", name="system:Any") == []
    assert faults("Role", name="a/b") == [("name", "Invalid value: \"a/b\": may not contain '/'")]


def test_what_is_of_the_cluster_has_no_namespace():
    assert faults("Node", namespaced=False) == [("namespace", "Forbidden: not allowed on this type")]


@pytest.mark.parametrize(
    ("after", "field", "message"),
    [
        ({"uid": "other"}, "uid", 'Invalid value: "other": field is immutable'),
        ({"name": "other"}, "name", 'Invalid value: "other": field is immutable'),
        ({"resourceVersion": ""}, "resourceVersion", 'Invalid value: "": must be specified for an update'),
        ({"labels": {"a": "b c"}}, "labels", None),
    ],
)
def test_an_update_leaves_alone_what_never_changes(after, field, message):
    [fault] = validate_metadata_update({"metadata": {**GOOD, **after}}, {"metadata": GOOD})

    assert fault.field == f"metadata.{field}"
    assert message is None or fault.message == message


def test_nothing_is_to_wait_for_once_deletion_has_begun():
    deleting = {**GOOD, "deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["a/x", "b/x"]}

    assert validate_metadata_update({"metadata": {**deleting, "finalizers": ["b/x"]}}, {"metadata": deleting}) == []
    [fault] = validate_metadata_update({"metadata": {**deleting, "finalizers": ["a/x", "c/x"]}}, {"metadata": deleting})
    assert (fault.reason, fault.field) == ("FieldValueForbidden", "metadata.finalizers")
    assert fault.message.endswith('found new finalizers []string{"c/x"}')


def test_a_finalizer_without_a_domain_is_warned_about():
    obj = {"metadata": {"finalizers": ["mine", "example.com", "example.com/x", "foregroundDeletion"]}}

    first, second = finalizer_warnings(obj)

    assert first.startswith('metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid')
    assert second.startswith(
        'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/)'
    )


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ([], "array into Go value of type v1.ObjectMeta"),
        ({"labels": {"a": 1}}, "number into Go struct field ObjectMeta.labels of type string"),
        ({"labels": ["a"]}, "array into Go struct field ObjectMeta.labels of type map[string]string"),
        ({"finalizers": "x"}, "string into Go struct field ObjectMeta.finalizers of type []string"),
        ({"uid": 5}, "number into Go struct field ObjectMeta.uid of type types.UID"),
        (
            {"ownerReferences": [{"controller": "x"}]},
            "string into Go struct field OwnerReference.ownerReferences.controller of type bool",
        ),
    ],
)
def test_metadata_of_a_wrong_type_is_refused_before_anything_is_judged(meta, words):
    obj = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": meta}

    message = malformed_metadata(obj)

    assert message == f'JobFlow in version "v1alpha1" cannot be handled as a JobFlow: json: cannot unmarshal {words}'


@pytest.mark.parametrize("meta", [None, {}, {"labels": None}, GOOD])
def test_metadata_of_the_right_types_is_read(meta):
    assert malformed_metadata({"metadata": meta}) is None
