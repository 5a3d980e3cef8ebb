package server

import (
	"context"
	"fmt"
	"net/http"
	"path"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// Code is the folders of formulas and plugins that agents may write to.
type Code interface {
	Code(ctx context.Context) ([]fleet.CodeFacts, error)
	// Trust writes down what may be run; ledger.ErrIllegal says why not.
	Trust(ctx context.Context, q api.TrustRequest, by string) error
}

func (s *server) codeList(req *http.Request, _ Caller) (any, error) {
	list, err := s.Code.Code(req.Context())
	if err != nil {
		return nil, err
	}
	out := api.CodeList{At: s.Now().Wall.UTC(), Code: []api.CodeRow{}, Next: []api.Hint{}}
	for _, c := range list {
		changes, _ := c.Changes.Get()
		out.Code = append(out.Code, api.CodeRow{Dir: c.Dir, Project: c.Project, Commit: c.Commit, Digest: c.Digest, Trusted: c.Trusted, Changes: changes, Loose: c.Loose, Diff: c.Diff})
		row := &out.Code[len(out.Code)-1]
		if !c.Changes.IsKnown() {
			row.Unknown = c.Changes.Why()
		}
		if changes != "" {
			out.Next = append(out.Next, api.Hint{Command: command("custos", "trust", c.Dir), What: "what is not run there, line by line"})
		}
	}
	return out, nil
}

// trust takes a person: the route says so.
func (s *server) trust(req *http.Request, c Caller) (any, error) {
	var q api.TrustRequest
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if !path.IsAbs(q.Dir) || q.Digest == "" && !q.Revoke {
		return nil, api.AsBadInput(fmt.Errorf("cannot trust %q: want its absolute path, and the digest of what was shown", fleet.Line(q.Dir, 200)))
	}
	if err := s.Code.Trust(req.Context(), q, c.Name()); err != nil {
		return nil, control.Reasoned(fmt.Errorf("cannot trust %s: %w", fleet.Line(q.Dir, 200), err))
	}
	return s.codeList(req, c)
}
