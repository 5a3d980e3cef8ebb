package ledger

import "custos/internal/fleet"

// GiveTeam returns work as a team brings it to its end: that of its last role does it, after those of the others. A person
// may, and an agent of work that it wrote down itself.
func GiveTeam(w fleet.WorkItem, t fleet.Team, by string) (fleet.WorkItem, error) {
	what := "give " + w.ID + " to team " + t.Name
	switch {
	case w.State == fleet.WorkClosed:
		return w, Unfit(what, "it is closed: custos work reopen %s", w.ID)
	case w.Review != nil:
		return w, Unfit(what, "it is a review")
	case w.Part != "":
		return w, Unfit(what, "it is a part of %s", w.Part)
	case w.State == fleet.WorkTaken:
		return w, Unfit(what, "%s has it: custos work release %s", fleet.Line(w.Agent, 80), w.ID)
	case w.Team != "" && w.Team != t.Name:
		return w, Unfit(what, "team %s has it: custos team stop %s", w.Team, w.ID)
	case mayTeam(w, by) != nil:
		return w, mayTeam(w, by)
	case w.Team == t.Name:
		return w, nil
	}
	w.Team, w.Role, w.Tries, w.Spent = t.Name, t.Roles[len(t.Roles)-1], 0, false
	return w, nil
}

// LeaveTeam returns work as no team has it any more. Who works on it goes on.
func LeaveTeam(w fleet.WorkItem, by string) (fleet.WorkItem, error) {
	if err := mayTeam(w, by); err != nil || w.Part != "" {
		if err == nil {
			err = Unfit("take "+w.ID+" from its team", "it is a part of %s", w.Part)
		}
		return w, err
	}
	w.Team = ""
	return w, nil
}

// mayTeam refuses an agent what it did not write down.
func mayTeam(w fleet.WorkItem, by string) error {
	if self, isAgent := fleet.AgentOf(by); isAgent && (isNameless(self) || w.By != by) {
		return Unfit("say who works on "+w.ID, "agent %s did not write it down", fleet.Line(self, 80))
	}
	return nil
}
