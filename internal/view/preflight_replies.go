package view

import (
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Listening is one place where people answer Custos.
type Listening struct {
	Place fleet.Place
	// Unread are the replies that lie there and were not acted on; unknown where
	// only a server could tell.
	Unread fleet.Leaf[[]string]
	Spool  bool // a folder, where replies lie until they are acted on
}

// replySection says where people may answer, how many, and what was not acted on yet.
func replySection(list []Listening) api.Section {
	const name, title = "escalation-replies", "Escalation replies"
	if len(list) == 0 {
		return absent(name, title, "no place is configured where people may reply")
	}
	out := api.Section{Name: name, Title: title, Status: string(fleet.StatusOK)}
	for _, l := range list {
		out.Lines = append(out.Lines, l.line())
		for _, text := range shown(l.Unread.Or(nil)) {
			out.Lines = append(out.Lines, "  "+fleet.Line(fleet.Redact(fleet.Text(text)), 200))
		}
	}
	return out
}

// mostUnread is how many replies of one spool are shown.
const mostUnread = 10

func shown(replies []string) []string { return replies[:min(len(replies), mostUnread)] }

func (l Listening) line() string {
	asked := ""
	if l.Place.Asks {
		asked = ", and may approve and deny"
	}
	who := fmt.Sprintf("%s: %s may reply in %s%s", l.Place.Name, people(len(l.Place.People)), fleet.Line(l.Place.Room, 200), asked)
	if !l.Spool {
		return who
	}
	return fmt.Sprintf("%s: who may write into %s may reply; unread: %s", l.Place.Name, fleet.Path(l.Place.Room),
		known(l.Unread, func(list []string) string { return fmt.Sprint(len(list)) }))
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}
