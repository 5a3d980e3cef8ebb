package registry

import (
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// met is what another host tells of an account that is at its limit.
type met struct {
	host, account string
	until         fleet.Instant // when that is reset; zero: it is not told
}

// meet notes which accounts are at their limits at another host. What it tells of holds until its time though the
// host is silent by now; without a time it does not, for nobody would end it.
func (o *others) meet(e fleet.Elsewhere, told []fleet.SpentAccount, now fleet.Instant) {
	silent, known := e.Silent.Get()
	for _, l := range told {
		m := met{host: e.Host, account: l.Account}
		if !l.Until.IsZero() {
			m.until = now.Add(l.Until.Sub(now.Wall))
		}
		if m.until.IsZero() && known && silent == 0 || now.Before(m.until) {
			o.limits = append(o.limits, m)
		}
	}
}

// limit is the limit of an account, as other hosts tell.
func (o *others) limit(account string) fleet.AccountLimit {
	l := fleet.AccountLimit{Told: true}
	for _, m := range o.limits {
		if m.account != account {
			continue
		}
		l.Limited, l.Told = true, l.Told && !m.until.IsZero()
		if l.Until.Before(m.until) {
			l.Until = m.until
		}
	}
	return l
}

// say names those of some accounts of which other hosts tell, each with its host, and what a person does about it there;
// "": none does.
func (o *others) say(accounts []string) string {
	var told []string
	for _, m := range o.limits {
		if slices.Contains(accounts, m.account) {
			told = append(told, m.account+" ("+m.host+")")
		}
	}
	if len(told) == 0 {
		return ""
	}
	slices.Sort(told)
	return fleet.Line("; as other hosts say: "+strings.Join(slices.Compact(told), ", "), 300) + "; custos resume --account NAME there ends that"
}

// endsHere is what a person may do on this host about the first of some accounts of which no other host tells; "": there is none.
func (s *workers) endsHere(accounts []string) string {
	for _, a := range accounts {
		if !s.others.limit(a).Limited {
			return "custos resume --account " + a
		}
	}
	return ""
}

// spent are the accounts of the pool that are at their limits here.
func (s *workers) spent() (out []fleet.SpentAccount) {
	for _, a := range s.accounts() {
		l := s.limitHere(a)
		if !l.IsExhausted(s.snap.At) {
			continue
		}
		x := fleet.SpentAccount{Account: a}
		if l.Told {
			x.Until = l.Until.Wall.UTC().Round(time.Second)
		}
		out = append(out, x)
	}
	return out
}
