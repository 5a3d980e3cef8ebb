package ledger

import (
	"encoding/json"
	"regexp"
	"strings"

	"custos/internal/fleet"
)

// How other systems say that a branch is ready to be merged. Gas Town: subject "MERGE_READY NAME", and a
// line "Branch: BRANCH" (steveyegge/gastown, internal/protocol/messages.go and docs/design/mail-protocol.md, commit
// 04bcb543). Overstory: type merge_ready, with a payload {"branch": …} (jayminwest/overstory, src/types.ts,
// MergeReadyPayload, commit 07b0f78e), "Branch: BRANCH." in its text, or the subject "Merge ready: BRANCH".
var (
	readySubject = regexp.MustCompile(`^\s*MERGE_READY(\s|$)`)
	branchLine   = regexp.MustCompile(`(?i)\bbranch:[ \t]+(\S+)`)
	readyBranch  = regexp.MustCompile(`(?i)^\s*merge ready:\s+(\S+)\s*$`)
)

// IsMergeReady says whether a subject says by itself that a branch is ready to be merged.
func IsMergeReady(subject string) bool { return readySubject.MatchString(subject) }

// ReadyBranch is the branch that a mail of type merge_ready names; "" where it names none. It is
// anybody's words: whether there is such a branch, git says.
func ReadyBranch(subject, body string) string {
	var payload struct {
		Branch string `json:"branch"`
	}
	if start := strings.IndexByte(body, '{'); start >= 0 && json.NewDecoder(strings.NewReader(body[start:])).Decode(&payload) == nil && payload.Branch != "" {
		return branchNamed(payload.Branch)
	}
	for _, found := range [][]string{branchLine.FindStringSubmatch(body), readyBranch.FindStringSubmatch(subject)} {
		if found != nil {
			return branchNamed(found[1])
		}
	}
	return ""
}

// named is a name without the end of the sentence that it stands in, and without quotes.
func branchNamed(branch string) string {
	return strings.Trim(fleet.Line(strings.Trim(branch, " \t\r\n"), 200), "`'\".,;")
}
