package ledger_test

import (
	"strings"
	"testing"

	"custos/internal/ledger"
)

// The words are those of the systems' own templates: see merge_mail.go.
func TestReadyBranch(t *testing.T) {
	for _, c := range []struct{ subject, body, want string }{
		{"MERGE_READY nux", "Branch: polecat/nux/gt-abc\nIssue: gt-abc\nPolecat: nux\nRig: gastown\nVerified: clean git state", "polecat/nux/gt-abc"},
		{"merge_ready: uploader", "Review-verified. Branch: overstory/b1/uploader. Files modified: a.ts.", "overstory/b1/uploader"},
		{"Merge ready: overstory/b1/uploader", "Branch overstory/b1/uploader verified for bead bd-12.", "overstory/b1/uploader"},
		{"done", "It is verified.\n{\"branch\": \"overstory/b1/x\", \"taskId\": \"bd-12\", \"agentName\": \"b1\", \"filesModified\": []}", "overstory/b1/x"},
		{"done", `{"branch": ""} Branch: y`, "y"},
		{"done", `{"branch": 7}`, ""},
		{"done", "the branch is ready", ""},
		{"done", "Branch:\nretry", ""},
		{"Merge ready: the whole thing", "", ""},
		{"", "", ""},
	} {
		if got := ledger.ReadyBranch(c.subject, c.body); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.subject, c.body, got, c.want)
		}
	}
	for subject, want := range map[string]bool{"MERGE_READY nux": true, "  MERGE_READY nux  ": true, "MERGE_READY": true, "MERGE_READYBAR": false, "merge_ready: x": false, "re: MERGE_READY nux": false} {
		if ledger.IsMergeReady(subject) != want {
			t.Errorf("%q: %v", subject, !want)
		}
	}
}

func FuzzReadyBranch(f *testing.F) {
	f.Add("MERGE_READY nux", "Branch: a/b\n")
	f.Add("x", `{"branch": "a"}`)
	f.Fuzz(func(t *testing.T, subject, body string) {
		got := ledger.ReadyBranch(subject, body)
		if len([]rune(got)) > 200 || strings.ContainsAny(got, "\n\r\x1b") {
			t.Errorf("%q", got)
		}
		ledger.IsMergeReady(subject)
	})
}
