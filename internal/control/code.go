package control

import (
	"context"
	"fmt"
	"path"

	"custos/internal/api"
	"custos/internal/fleet"
)

// code is trusted by a person.
func code() Noun {
	return Noun{"code", []Verb{
		{Name: "list", Do: asks((*Control).codeList)},
		{Name: "trust", Access: Person, Do: given((*Control).trust)},
	}}
}

// Code is the folders of formulas and plugins that agents may write to.
type Code interface {
	Code(ctx context.Context) ([]fleet.CodeFacts, error)
	// Trust writes down that what has the digest may be run in a folder; ledger.ErrIllegal
	// says why not. An empty digest trusts nothing there any more.
	Trust(ctx context.Context, dir, digest, by string) error
}

func (c *Control) codeList(ctx context.Context, call Call) (api.CodeList, error) {
	list, err := c.Code.Code(ctx)
	if err != nil {
		return api.CodeList{}, err
	}
	out := api.CodeList{At: c.Now().Wall.UTC(), Code: []api.CodeRow{}, Next: []api.Hint{}}
	for _, c := range list {
		changes, _ := c.Changes.Get()
		out.Code = append(out.Code, api.CodeRow{Dir: c.Dir, Project: c.Project, Commit: c.Commit, Digest: c.Digest, Trusted: c.Trusted, Changes: changes, Loose: c.Loose, Diff: c.Diff})
		row := &out.Code[len(out.Code)-1]
		if !c.Changes.IsKnown() {
			row.Unknown = c.Changes.Why()
		}
		if changes != "" {
			out.Next = append(out.Next, api.Hint{Command: api.Typed("custos", "trust", c.Dir), What: "what is not run there, line by line"})
		}
	}
	return out, nil
}

// trust writes down what may be run there.
func (c *Control) trust(ctx context.Context, call Call, q api.TrustRequest) (api.CodeList, error) {
	if !path.IsAbs(q.Dir) || q.Digest == "" && !q.Revoke {
		return api.CodeList{}, api.AsBadInput(fmt.Errorf("cannot trust %q: want its absolute path, and the digest of what was shown", fleet.Line(q.Dir, 200)))
	}
	if q.Revoke {
		q.Digest = ""
	}
	if err := c.Code.Trust(ctx, q.Dir, q.Digest, call.By); err != nil {
		return api.CodeList{}, Reasoned(fmt.Errorf("cannot trust %s: %w", fleet.Line(q.Dir, 200), err))
	}
	return c.codeList(ctx, call)
}
