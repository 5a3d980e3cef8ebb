package decide

import (
	"slices"

	"custos/internal/fleet"
)

const hintHub = "custos hub status"

// askLease refuses what is done to something that several hosts share, unless this host holds
// its lease: then no other one does it. Where no place for leases is configured nothing is shared.
// Who holds it is asked once more when the action begins, and where it is done.
func askLease(p *pass, r *request) *refusal {
	hub := &p.snap.Hub
	given := r.order != nil && r.order.Fence != nil
	if !given && (r.ability.Shared == "" || hub.Status == "" || hub.Usable() && hub.Value.Host == "") {
		return nil // it shares nothing
	}
	key, why := p.sharedKey(r)
	switch {
	case why != "":
		return &refusal{why: why, hint: hintLook}
	case key == "":
		return nil
	case !hub.Fresh():
		return &refusal{why: "other hosts share it, and it is not known which of them may: " + hub.Why, hint: hintHub}
	}
	l := hub.Value.LeaseOf(key)
	if l.Mine && (r.ability.Fenced || l.Enough()) {
		r.fence = &fleet.Fence{Key: key, Epoch: l.Epoch}
		return nil
	}
	p.wantLease(key)
	return &refusal{why: notHeld(l), hint: hintHub}
}

// whyFenced is why an order that was given by a lease is refused for good: what was counted when it was given is counted
// anew by whoever may give it now. "": it is not.
func (p *pass) whyFenced(o *fleet.Order) string {
	if o.Fence == nil {
		return ""
	}
	l := p.snap.Hub.Value.LeaseOf(o.Fence.Key)
	switch {
	case p.policy.Frozen != "":
		return "other hosts may do it, and this one is frozen: " + p.policy.Frozen
	case !p.snap.Hub.Fresh():
		return ""
	case l.Holder != "" && !l.Mine:
		return "host " + l.Holder + " holds its lease by now"
	case l.Mine && l.Epoch != o.Fence.Epoch:
		return "its lease has passed on since it was given"
	}
	return ""
}

// notHeld is why a lease does not let an action pass: words that change only with the reason.
func notHeld(l fleet.Lease) string {
	switch {
	case l.Mine:
		return "other hosts share it, and too little is left of its lease"
	case l.Holder != "":
		return "other hosts share it, and " + l.Holder + " holds its lease"
	case l.Why != "":
		return "other hosts share it, and its lease could not be asked for: " + l.Why
	}
	return "other hosts share it, and its lease is being asked for"
}

// wantLease has the lease asked for, once this plan is committed.
func (p *pass) wantLease(key string) {
	if !slices.Contains(p.plan.Leases, key) {
		p.plan.Leases = append(p.plan.Leases, key)
	}
}

// sharedKey names what of a request's target several hosts share, the same on each of them; ""
// for what they do not share. why: it cannot be told.
func (p *pass) sharedKey(r *request) (key, why string) {
	if r.order != nil && r.order.Fence != nil {
		return r.order.Fence.Key, ""
	}
	t := r.target()
	switch r.ability.Shared {
	case fleet.SharedForge:
		return p.projectKey(string(fleet.SharedForge), projectOf(t))
	case fleet.SharedCI:
		if t.Pipeline == nil || t.Pipeline.URL == "" {
			return "", "other hosts may share it, and its CI does not say where it is"
		}
		return string(fleet.SharedCI) + "/" + t.Pipeline.URL, ""
	case fleet.SharedMerge:
		if t.Merge == nil || t.Merge.Queue.Remote == "" || t.Merge.Queue.Project == "" {
			return "", "" // nobody else merges there, or the push alone decides
		}
		key, why = p.projectKey(string(fleet.SharedMerge), t.Merge.Queue.Project)
		return key + "#" + t.Merge.Queue.Target, why
	}
	return "", ""
}

// projectKey is the key of a repository of a forge: where it is, which each host knows by a name of its own.
func (p *pass) projectKey(what, project string) (key, why string) {
	if key = fleet.ProjectKey(p.snap, what, project); key == "" {
		why = "other hosts share it, and where project " + project + " is was not seen yet"
	}
	return key, why
}

// wantTold wants the leases by which one host tells people of what several see (assess says who does).
func (p *pass) wantTold() {
	if !p.snap.Hub.Usable() || p.snap.Hub.Value.Host == "" {
		return
	}
	for i := range p.found.Alerts {
		a := &p.found.Alerts[i]
		if key := fleet.TellKey(p.snap, a.Subject); key != "" && a.Status == fleet.AlertFiring {
			p.wantLease(key)
		}
	}
}

// projectOf is the project of a target on a forge; "" for none.
func projectOf(t fleet.Target) string {
	switch {
	case t.Issue != nil:
		return t.Issue.Project
	case t.Pull != nil:
		return t.Pull.Project
	case t.Project != nil:
		return t.Project.Name
	}
	return ""
}
