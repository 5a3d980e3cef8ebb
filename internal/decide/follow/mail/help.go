package mail

import (
	"regexp"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// helpWords say how bad what is asked for help about is. The first line with a
// word of the mail decides; no word of any: P3.
var helpWords = []struct {
	grade fleet.Priority
	words *regexp.Regexp
}{
	{fleet.P1, wordsOf(`data loss|lost (?:data|work|commits?)|deleted|overwr(?:ote|itten)|corrupt(?:ed|ion)?|leak(?:ed|s)?|exposed|secrets?|credentials?|compromised|production|outage|emergency`)},
	{fleet.P2, wordsOf(`blocked|blocks|blocker|cannot|can't|can not|unable|fail(?:s|ed|ing|ure)?|conflicts?|broken|stuck|denied|crash(?:es|ed)?|missing|urgent`)},
}

func wordsOf(list string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + list + `)\b`) }

// gradeHelp sorts a call for help by its words, and says which word it was. What
// its writer says of its priority counts where that is worse, but only words make
// an emergency.
func gradeHelp(m fleet.Mail) (grade fleet.Priority, why string) {
	for _, row := range helpWords {
		if word := row.words.FindString(m.Subject + "\n" + m.Body); word != "" {
			return row.grade, "it says " + fleet.Line(word, 40)
		}
	}
	if m.Priority.AtLeast(fleet.P2) {
		return fleet.P2, "its writer says " + string(m.Priority)
	}
	return fleet.P3, "no word of it says how bad it is"
}

// patienceWith is how long a call for help may go without an answer.
func patienceWith(grade fleet.Priority) time.Duration {
	switch grade {
	case fleet.P0, fleet.P1:
		return 15 * time.Minute
	case fleet.P2:
		return time.Hour
	}
	return 4 * time.Hour
}

// raise escalates a call for help that nobody answered in time, once: it lies in
// the people's inbox then, and the rules help-unanswered tell them.
func (p *post) raise(m *fleet.Mail) {
	if !m.Waits() || !m.Sorted || !p.out.Passed(p.at, m.At, patienceWith(m.Grade)) {
		return
	}
	m.Raised = p.at
	if !ledger.IsFor(*m, fleet.Overseer) {
		m.Copies = append(m.Copies, fleet.MailCopy{To: fleet.Overseer, State: fleet.CopyTold, Since: p.at, Told: 1, ToldAt: p.at, Why: "nobody answered it"})
	}
}
