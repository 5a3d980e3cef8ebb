package assess

import (
	"time"

	"custos/internal/fleet"
)

// agreeing is how long an alert waits at most until the hosts that see the same have agreed who tells people of
// it: as long as a lease takes to be had when its holder has just died. Twice is better than not at all.
const agreeing = 2 * time.Duration(fleet.LeaseTime)

// notAgreed is who tells of an alert while the hosts agree on that.
const notAgreed = "the host that takes its lease"

// share notes who tells people of what several hosts see, where it is not this host. Where it cannot be known, each tells.
func (p *pass) share() {
	hub := &p.snap.Hub
	for i := range p.alerts {
		a := &p.alerts[i]
		was := a.ToldBy // of the alert as it was, which goes on
		a.ToldBy = ""
		if a.Status == fleet.AlertFiring && hub.Fresh() && hub.Value.Host != "" {
			a.ToldBy = p.teller(a, fleet.TellKey(p.snap, a.Subject), was)
		}
	}
}

// teller is the other host that tells of an alert, and was before; "" where this one does. Who has told stays the
// one while the lease is with nobody: this host asks for it, and holds it, hears of another, or cannot, soon.
func (p *pass) teller(a *fleet.Alert, key, was string) string {
	if key == "" {
		return ""
	}
	l := p.snap.Hub.Value.LeaseOf(key)
	switch {
	case l.Mine || l.Why != "":
		return ""
	case l.Holder != "":
		return l.Holder
	case was != "" && was != notAgreed:
		return was
	case p.snap.At.Since(a.FiredAt) < agreeing:
		return notAgreed
	}
	return ""
}
