package ledger

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// roleVariable is a place of a prompt for what is not known before an agent starts.
var roleVariable = regexp.MustCompile(`\{\{\s*([a-z]+)\s*\}\}`)

// RoleVariables are those that the prompt of a role may have.
func RoleVariables() []string {
	return []string{"name", "role", "project", "branch", "parent", "work", "title", "body", "whole", "before"}
}

// UnknownVariable is a place of a text for what no role knows; "" when there is none.
func UnknownVariable(text string) string {
	for _, v := range anyVariable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(RoleVariables(), v[1]) {
			return v[1]
		}
	}
	return ""
}

// anyVariable is a place for something, whether that is known or not.
var anyVariable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// RolePrompt is the first prompt of an agent of a role: what it is given is put in as it is,
// once, so that no text of others becomes a variable. Work of another tracker has its name alone.
func RolePrompt(r fleet.Role, a fleet.Registration, w *fleet.WorkItem) string {
	return rolePrompt(r, a, w, "")
}

func rolePrompt(r fleet.Role, a fleet.Registration, w *fleet.WorkItem, before string) string {
	text := r.Prompt
	if v := roleVariable.FindAllStringSubmatch(text, -1); text != "" && !slices.ContainsFunc(v, func(m []string) bool { return m[1] == "before" }) {
		text += "\n\n{{before}}"
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(roleText(text, r, a, w, before), "\n\n"))
}

// RoleArgv is the command line of an agent of a role: what it is given is put into single arguments,
// and no shell reads them.
func RoleArgv(r fleet.Role, a fleet.Registration, w *fleet.WorkItem) []string {
	var argv []string
	for _, arg := range r.Argv {
		argv = append(argv, roleText(arg, r, a, w, ""))
	}
	return argv
}

func roleText(text string, r fleet.Role, a fleet.Registration, w *fleet.WorkItem, before string) string {
	values := map[string]string{"name": a.Name, "role": r.Name, "project": a.Project, "branch": a.Branch, "parent": a.Parent, "work": a.Task, "whole": a.Task, "before": before}
	if w != nil {
		values["work"], values["title"], values["body"], values["whole"] = w.ID, w.Title, w.Body, cmp.Or(string(w.Part), w.ID)
	}
	return roleVariable.ReplaceAllStringFunc(text, func(v string) string { return values[roleVariable.FindStringSubmatch(v)[1]] })
}

// blankLines are more of them than text needs: what stood there was empty.
var blankLines = regexp.MustCompile(`\n[ \t]*\n([ \t]*\n)+`)

// RoleRoom refuses one more agent of a role than it may have: those there are, and those that work was
// handed out to and that have not begun.
func RoleRoom(r fleet.Role, all []fleet.Registration, works []fleet.WorkItem) error {
	n := 0
	for i := range all {
		if all[i].Role == r.Name && all[i].Desired == fleet.DesiredRunning && !HasFinished(&all[i]) {
			n++
		}
	}
	for _, w := range works {
		if len(w.Begin) > 0 && w.Begin[0].Spawn != nil && w.Begin[0].Spawn.Role == r.Name && Registration(all, w.Agent) == nil {
			n++
		}
	}
	if r.Max > 0 && n >= r.Max {
		return Unfit("start an agent of role "+r.Name, "there are %d, and may be %d", n, r.Max)
	}
	return nil
}

// HasFinished says whether an agent has ended by itself, well, or is not started again.
func HasFinished(r *fleet.Registration) bool {
	if r.Exit == nil {
		return false
	}
	status, known := r.Exit.Status.Get()
	return known && status == 0 && r.Restart != fleet.RestartAlways || r.Failed != "" || r.Restart == fleet.RestartNever
}

// RoleMaySpawn refuses an agent's start by a parent whose role does not name its role.
func RoleMaySpawn(parent *fleet.Role, child string) error {
	if parent == nil || parent.MaySpawn == nil || slices.Contains(parent.MaySpawn, child) {
		return nil
	}
	return Unfit("start an agent of role "+fleet.Line(child, 40), "an agent of role %s may start %s", parent.Name, cmp.Or(strings.Join(parent.MaySpawn, ", "), "none"))
}

// freeMail is what a role calls mail that has no type.
const freeMail = "free"

// RoleMails are the types of mail that a role may name.
func RoleMails() []string {
	types := []string{freeMail}
	for _, t := range fleet.MailTypes() {
		types = append(types, string(t))
	}
	return types
}

// RoleMaySend refuses an agent mail of a type that its role does not name.
func RoleMaySend(r *fleet.Role, t fleet.MailType) error {
	if name := cmp.Or(string(t), freeMail); r != nil && r.Mails != nil && !slices.Contains(r.Mails, name) {
		return Unfit("send mail of type "+fleet.Line(name, 40), "an agent of role %s may send %s", r.Name, cmp.Or(strings.Join(r.Mails, ", "), "none"))
	}
	return nil
}

// RoleSupervisor is whom agents of a role report to where nobody has started them: of the role that theirs names, the one that was
// registered first of those that are to run; nil for none.
func RoleSupervisor(r fleet.Role, all []fleet.Registration) (first *fleet.Registration) {
	for i := range all {
		a := &all[i]
		if r.ReportsTo != "" && a.Role == r.ReportsTo && a.Desired == fleet.DesiredRunning && !HasFinished(a) && (first == nil || a.CreatedAt.Before(first.CreatedAt)) {
			first = a
		}
	}
	return first
}

// SlingWork returns work as it is taken for an agent that is to begin with it: the pass that
// sees it gives the order, and gives the work back where that comes to nothing.
func SlingWork(w fleet.WorkItem, begin []fleet.Order, by string, at fleet.Instant) (fleet.WorkItem, error) {
	const what = "hand out work"
	switch {
	case len(begin) == 0:
		return w, Unfit(what, "nothing has its agent begin")
	case w.State == fleet.WorkClosed:
		return w, Unfit(what, "%s is closed", w.ID)
	case w.State == fleet.WorkTaken:
		return w, Unfit(what, "%s has %s", fleet.Line(w.Agent, 80), w.ID)
	}
	w.State, w.Agent, w.Person, w.Since, w.Why, w.Begin, w.Begun = fleet.WorkTaken, begin[0].Agent, false, at, "handed out by "+by, begin, false
	if s := begin[0].Spawn; s != nil {
		w.Branch = s.Branch
	}
	if w.Tries++; by != fleet.ByCustos {
		w.Tries, w.Spent = 0, false
	}
	return w, nil
}
