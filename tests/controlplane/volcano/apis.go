//go:build generate

// Package volcano names the Volcano API types from which the tests generate Volcano's own CRDs,
// so that go.mod and go.sum pin and check them. It holds no code and is never built.
package volcano

import (
	_ "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	_ "volcano.sh/apis/pkg/apis/flow/v1alpha1"
)
