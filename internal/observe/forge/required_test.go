package forge

import (
	"testing"

	"custos/internal/sys/forge"
)

// TestRequiredContextsAreGlobs: a Gitea compiles them with gobwas/glob and no separator
// (services/pull/commit_status.go), so that a star is any text, slashes too.
func TestRequiredContextsAreGlobs(t *testing.T) {
	for _, c := range []struct {
		required, context string
		fits              bool
	}{
		{"ci/woodpecker/pr/test", "ci/woodpecker/pr/test", true},
		{"ci/*", "ci/woodpecker/pr/test", true},
		{"*", "ci/woodpecker/pr/test", true},
		{"ci/**", "ci/woodpecker/pr/test", true},
		{"CI / * (pull_request)", "CI / unit / race (pull_request)", true},
		{"ci/{lint,test}", "ci/test", true},
		{"ci/{lint,test}", "ci/build", false},
		{"ci/te?t", "ci/test", true},
		{"ci/te?t", "ci/tet", false},
		{"ci/[!a-s]*", "ci/test", true},
		{"ci/[a-s]*", "ci/test", false},
		{"ci/test", "ci/test2", false},
		{"CI (x", "CI (x", true},
		{"[", "[", true},
		{"a.c", "abc", false},
	} {
		_, missing := wanted([]forge.Check{{Context: c.context, State: "success"}}, []string{c.required})
		if missing == c.fits {
			t.Errorf("%q and %q: missing %v", c.required, c.context, missing)
		}
	}
}
