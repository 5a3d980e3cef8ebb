package ledger

import (
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// How long what lets somebody see the page is good for. An invitation is typed or scanned
// at once; a session is as long as a person may be on the way without a terminal; a link is
// shown to somebody, and not left lying about.
const (
	WebInvitationFor = time.Minute
	WebSessionFor    = 7 * 24 * time.Hour
	WebLinkAtMost    = 7 * 24 * time.Hour
)

// mostWebSessions keeps a program that asks for links in a loop from filling the ledger.
const mostWebSessions = 200

// AddWebSession adds an invitation or a link that is to be good for so long. Those that are
// over go.
func AddWebSession(all []fleet.WebSession, s fleet.WebSession, lasts time.Duration, now fleet.Instant) ([]fleet.WebSession, fleet.WebSession, error) {
	all = current(all, now)
	most := WebInvitationFor
	if s.Kind == fleet.WebLink {
		most = WebLinkAtMost
	}
	switch {
	case lasts <= 0:
		return nil, s, fmt.Errorf("%w: it is to be good for some time, for %s at most", ErrIllegal, days(most))
	case lasts > most:
		return nil, s, fmt.Errorf("%w: it is good for %s at most, and not for %s", ErrIllegal, days(most), days(lasts))
	case s.Kind == fleet.WebLink && !namesOne(s):
		return nil, s, fmt.Errorf("%w: a link shows one thing: an agent, a project or a page", ErrIllegal)
	case len(all) >= mostWebSessions:
		return nil, s, fmt.Errorf("%w: there are %d sessions and links of the page: revoke some first", ErrIllegal, len(all))
	}
	s.Made, s.Until = now, now.Add(lasts)
	return append(all, s), s, nil
}

// days is a time as people write it.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return fleet.Duration(d).String()
}

func namesOne(s fleet.WebSession) bool {
	named := 0
	for _, is := range []string{s.Agent, s.Project, s.Page} {
		if is != "" {
			named++
		}
	}
	return named == 1
}

// RedeemInvitation makes the session of the browser that shows the token of an invitation.
// That is gone by then: it is good once.
func RedeemInvitation(all []fleet.WebSession, hash string, s fleet.WebSession, now fleet.Instant) ([]fleet.WebSession, fleet.WebSession, error) {
	all = current(all, now)
	i := slices.IndexFunc(all, func(o fleet.WebSession) bool { return o.Kind == fleet.WebInvitation && o.Hash == hash })
	if i < 0 {
		return nil, s, fmt.Errorf("%w: this address was used already, or is too old: it is good once, for %s", ErrIllegal, WebInvitationFor)
	}
	s.Kind, s.By, s.Made, s.Until = fleet.WebPerson, all[i].By, now, now.Add(WebSessionFor)
	return append(slices.Delete(all, i, i+1), s), s, nil
}

// RevokeWebSession ends a session, a link or an invitation by its ID; "" ends all. It
// returns those that it ended.
func RevokeWebSession(all []fleet.WebSession, id string, now fleet.Instant) (left, ended []fleet.WebSession, err error) {
	for _, s := range current(all, now) {
		if id == "" || s.ID == id {
			ended = append(ended, s)
		} else {
			left = append(left, s)
		}
	}
	if id != "" && len(ended) == 0 {
		return nil, nil, fmt.Errorf("%w: there is no session or link %q of the page", ErrIllegal, fleet.Line(id, 40))
	}
	return left, ended, nil
}

// WebSession finds the session or the link that a token is of; false where it is of none
// that is good now. An invitation shows nothing.
func WebSession(all []fleet.WebSession, hash string, now fleet.Instant) (fleet.WebSession, bool) {
	for _, s := range current(all, now) {
		if s.Hash == hash && hash != "" && s.Kind != fleet.WebInvitation {
			return s, true
		}
	}
	return fleet.WebSession{}, false
}

// current leaves out what is over. A clock that was set back before a session was made
// shows nothing of how long that has been: it is over.
func current(all []fleet.WebSession, now fleet.Instant) []fleet.WebSession {
	return slices.DeleteFunc(slices.Clone(all), func(s fleet.WebSession) bool { return !now.Before(s.Until) || now.Before(s.Made) })
}
