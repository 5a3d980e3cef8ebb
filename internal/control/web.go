package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// web is the page: a person turns it on and off, lets browsers in, and puts them out.
func web() Noun {
	return Noun{"web", []Verb{
		{Name: "list", Access: Person, Do: asks((*Control).webShown)},
		{Name: "add", Access: Person, Do: given((*Control).webAdded)},
		{Name: "switch", Access: Person, Do: asks((*Control).webSwitched)},
	}}
}

// Web is the page, and the book of who may see it.
type Web interface {
	// Open has the page listen, where it does not, and returns its address, like
	// "http://127.0.0.1:7777".
	Open(ctx context.Context) (string, error)
	// Stop has it listen no more.
	Stop(ctx context.Context) error
	// Where is its address, "" where it is off, and what keeps it from listening.
	Where() (address, trouble string)
	// Pages are the paths of what it shows, like "/alerts" and "/alerts/{number}".
	Pages() []string
	// Sessions lists what lets somebody see it.
	Sessions(ctx context.Context) ([]fleet.WebSession, error)
	// Edit changes that list, in one transaction with what is written down of it.
	Edit(ctx context.Context, edit func([]fleet.WebSession) ([]fleet.WebSession, fleet.Event, error)) error
}

func (c *Control) webShown(ctx context.Context, _ Call) (api.Web, error) {
	all, err := c.Web.Sessions(ctx)
	if err != nil {
		return api.Web{}, err
	}
	address, trouble := c.Web.Where()
	now := c.Now()
	out := api.Web{URL: address, Trouble: trouble, Sessions: []api.WebSession{}}
	for _, s := range all {
		if now.Before(s.Until) {
			out.Sessions = append(out.Sessions, api.WebSession{ID: s.ID, Kind: string(s.Kind), By: s.By, Made: s.Made.Wall.UTC(), Until: s.Until.Wall.UTC(),
				Browser: s.Browser, Shows: shows(s), Terminal: s.Terminal})
		}
	}
	return out, nil
}

// shows says what a link shows.
func shows(s fleet.WebSession) string {
	switch {
	case s.Agent != "":
		return "agent " + s.Agent
	case s.Project != "":
		return "project " + s.Project
	}
	return s.Page
}

// webAdded makes an address. The token in it is in the answer, and nowhere else.
func (c *Control) webAdded(ctx context.Context, call Call, r api.WebRequest) (api.WebAddress, error) {
	s, lasts, err := webOf(call.By, r)
	if err == nil && r.Page != "" {
		err = leadsTo(r.Page, c.Web.Pages())
	}
	if err != nil {
		return api.WebAddress{}, api.AsBadInput(err)
	}
	address, err := c.Web.Open(ctx)
	if err != nil {
		return api.WebAddress{}, err
	}
	token := rand.Text() + rand.Text()
	s.ID, s.Hash = strings.ToLower(rand.Text()[:8]), WebProof(token)
	err = c.Web.Edit(ctx, func(all []fleet.WebSession) ([]fleet.WebSession, fleet.Event, error) {
		all, made, err := ledger.AddWebSession(all, s, lasts, c.Now())
		s = made
		return all, fleet.Event{Kind: "web.address", Text: webWords(made)}, err
	})
	if err != nil {
		return api.WebAddress{}, Reasoned(Illegal(err))
	}
	return api.WebAddress{ID: s.ID, URL: address + "/enter?token=" + token, Until: s.Until.Wall.UTC(), Once: s.Kind == fleet.WebInvitation}, nil
}

func webWords(s fleet.WebSession) string {
	if s.Kind == fleet.WebInvitation {
		return fmt.Sprintf("%s asked for an address of the page, %s, that is good once", s.By, s.ID)
	}
	return fmt.Sprintf("%s made a link of the page, %s, that shows %s until %s", s.By, s.ID, fleet.Line(shows(s), 200), s.Until.Wall.UTC().Format(time.RFC3339))
}

// webOf is what is asked for: an invitation where no part of the page is named.
func webOf(by string, r api.WebRequest) (fleet.WebSession, time.Duration, error) {
	s := fleet.WebSession{By: by, Kind: fleet.WebInvitation, Agent: r.Agent, Project: r.Project, Page: r.Page, Terminal: r.Terminal}
	if r == (api.WebRequest{}) {
		return s, ledger.WebInvitationFor, nil
	}
	s.Kind = fleet.WebLink
	switch {
	case r.Agent == "" && r.Project == "" && r.Page == "":
		return s, 0, errors.New("cannot make a link that shows nothing: name an agent, a project or a page (--agent, --project, --page)")
	case strings.HasPrefix(r.Page, "/agents/"):
		return s, 0, fmt.Errorf("cannot make a link of page %q: name the agent itself (--agent)", fleet.Line(r.Page, 80))
	case strings.HasPrefix(r.Page, "/hosts/"):
		return s, 0, fmt.Errorf("cannot make a link of page %q: a link shows this machine alone: make it there", fleet.Line(r.Page, 80))
	}
	if r.Page != "" && (!strings.HasPrefix(r.Page, "/") || path.Clean(r.Page) != r.Page || strings.ContainsAny(r.Page, "?#\\") || fleet.Line(r.Page, 400) != r.Page) {
		return s, 0, fmt.Errorf("cannot make a link of page %q: want its path, like /alerts", fleet.Line(r.Page, 80))
	}
	lasts, err := time.ParseDuration(r.For)
	if err != nil {
		return s, 0, fmt.Errorf("cannot make a link that is good for %q: want a time, like 2h", fleet.Line(r.For, 40))
	}
	return s, lasts, nil
}

// leadsTo says that no page is at a path, and which one is near.
func leadsTo(page string, all []string) error {
	var fixed []string
	for _, p := range all {
		if isAt(page, p) {
			return nil
		}
		if !strings.Contains(p, "{") {
			fixed = append(fixed, p)
		}
	}
	return fmt.Errorf("cannot make a link of page %q: there is no such page%s", fleet.Line(page, 80), nearest.Hint(page, fixed))
}

// isAt says whether a path is one of a pattern, in which {number} is one and {name} is anything.
func isAt(page, pattern string) bool {
	is, want := strings.Split(page, "/"), strings.Split(pattern, "/")
	return slices.EqualFunc(is, want, func(is, want string) bool {
		switch {
		case want == "{number}":
			return is != "" && strings.Trim(is, "0123456789") == ""
		case strings.HasPrefix(want, "{"):
			return is != ""
		}
		return is == want
	})
}

// WebProof proves a token without showing it.
func WebProof(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (c *Control) webSwitched(ctx context.Context, call Call) (api.WebEnded, error) {
	switch call.Do {
	case "revoke":
		return c.webRevoked(ctx, call, call.ID)
	case "revoke-all":
		return c.webRevoked(ctx, call, "")
	case "stop":
		return api.WebEnded{}, c.Web.Stop(ctx)
	}
	return api.WebEnded{}, api.AsBadInput(fmt.Errorf("cannot %s the page: want revoke, revoke-all or stop", fleet.Line(call.Do, 40)))
}

func (c *Control) webRevoked(ctx context.Context, call Call, id string) (out api.WebEnded, _ error) {
	err := c.Web.Edit(ctx, func(all []fleet.WebSession) ([]fleet.WebSession, fleet.Event, error) {
		left, ended, err := ledger.RevokeWebSession(all, id, c.Now())
		out.Ended = len(ended)
		return left, fleet.Event{Kind: "web.revoked", Text: fmt.Sprintf("%s ended %d session(s) or link(s) of the page%s", call.By, len(ended), webIDs(ended))}, err
	})
	if errors.Is(err, ledger.ErrIllegal) {
		return out, &api.Error{Kind: api.NotFound, Message: "cannot revoke: " + Reason(err.Error()), Hint: "custos web sessions"}
	}
	return out, err
}

func webIDs(list []fleet.WebSession) string {
	if len(list) == 0 {
		return ""
	}
	ids := make([]string, 0, len(list))
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ": " + strings.Join(ids, ", ")
}
