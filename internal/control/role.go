package control

import (
	"cmp"
	"context"
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// ofRoles are looked at by anyone.
func ofRoles() Noun {
	return Noun{"roles", []Verb{
		{Name: "list", Do: asks((*Control).roleList)},
		{Name: "show", Do: asks((*Control).roleShown)},
		{Name: "offer", Do: asks((*Control).roleOffer)},
	}}
}

// slings are given by a person, and by an agent for one below itself.
func slings() Noun {
	return Noun{"slings", []Verb{{Name: "add", Access: Author, Do: given((*Control).sling)}}}
}

// role finds a role of custos.toml; nil when there is none.
func (c *Control) role(name string) *fleet.Role {
	return fleet.Find(c.Roles, func(r *fleet.Role) bool { return r.Name == name && name != "" })
}

func (c *Control) roleList(ctx context.Context, _ Call) (api.RoleList, error) {
	all, err := c.Registry(ctx)
	out := api.RoleList{At: c.Now().Wall.UTC(), Roles: []api.Role{}, Next: []api.Hint{}}
	for _, r := range c.Roles {
		out.Roles = append(out.Roles, c.roleView(r, true, all))
	}
	for _, r := range c.Presets {
		if c.role(r.Name) == nil {
			out.Roles = append(out.Roles, c.roleView(r, false, all))
		}
	}
	if len(c.Roles) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos help roles.md", What: "how a role is configured"})
	}
	return out, err
}

// roleOffer is what an agent of a role would be started with, for a piece of work or for none: it is made
// as sling makes it.
func (c *Control) roleOffer(ctx context.Context, call Call) (api.RoleDraft, error) {
	if c.role(call.ID) == nil {
		return api.RoleDraft{}, c.unmade(ctx, "draft an agent of", call.ID)
	}
	past, _, err := c.Records.Seen(ctx)
	if err != nil {
		return api.RoleDraft{}, err
	}
	work := call.Ask("work")
	if work != "" && ledger.Work(past.Records, fleet.Ref(work)) == nil {
		return api.RoleDraft{}, missing("work", work, each(past.Records.Work, func(w fleet.WorkItem) string { return w.ID }), "custos work list")
	}
	r := *c.role(call.ID)
	if err := ledger.RoleLacks(r); err != nil {
		return api.RoleDraft{}, Illegal(err)
	}
	reg := ledger.RoleStart(r, ledger.Work(past.Records, fleet.Ref(work)), nil, nil, past)
	policy, from := c.RoleBook.Policy(r.Name)
	text, args, prompt, err := c.RoleBook.Context(r, reg.Prompt)
	if err != nil {
		return api.RoleDraft{}, api.AsBadInput(fmt.Errorf("cannot draft an agent of role %s: %w", r.Name, err))
	}
	return api.RoleDraft{Role: call.ID, Agent: reg.Name, Branch: reg.Branch, Prompt: fleet.Redact(prompt), Context: fleet.Redact(text), ContextArgs: args, Policy: policy, PolicyFrom: from, Spawn: api.SpawnRequest{Kind: reg.Kind, Argv: fleet.RedactArgs(reg.Argv), Env: reg.Env, Role: reg.Role, Project: reg.Project,
		Task: reg.Task, Account: reg.Account, Dir: reg.Dir, Repo: reg.Repo, Worktree: reg.Repo != "", Headless: reg.Where == fleet.WhereHeadless, Restart: string(reg.Restart), Standing: reg.Standing, MemoryMax: reg.MemoryMax}}, nil
}

// unmade refuses what a role needs its section for, of one that has none.
func (c *Control) unmade(ctx context.Context, what, role string) error {
	_, err := c.roleShown(ctx, Call{ID: role})
	if err == nil {
		err = &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s role %s: custos.toml has no [role.%s]: it is a preset", what, role, role), Hint: "custos help roles.md"}
	}
	return err
}

// asRole is a spawn with what it does not say itself as its role says, where custos.toml has that
// role; else a role is a word.
func (c *Control) asRole(q api.SpawnRequest, name string, all fleet.Records, regs []fleet.Registration) api.SpawnRequest {
	if r := c.role(q.Role); r != nil {
		own := q.Kind == "" && len(q.Argv) == 0
		q = filled(q, *r)
		if boss := ledger.RoleSupervisor(*r, regs); q.Parent == "" && boss != nil {
			q.Parent = boss.Name
		}
		a, w := fleet.Registration{Name: name, Project: q.Project, Parent: q.Parent, Task: q.Task, Branch: cmp.Or(q.Branch, "agent/"+fileWord(name))}, ledger.Work(all, fleet.Ref(q.Task))
		if own {
			q.Argv = ledger.RoleArgv(*r, a, w)
		}
		if q.Prompt == "" && q.Kind != generic { // it is not known how that would be given one
			q.Prompt = ledger.RolePrompt(*r, a, w)
		}
	}
	if !q.Worktree && q.Dir == "" {
		q.Dir = q.Here
	}
	return q
}

func filled(q api.SpawnRequest, r fleet.Role) api.SpawnRequest {
	if q.Kind == "" && len(q.Argv) == 0 {
		q.Kind, q.Argv = r.Kind, r.Argv
	}
	if q.Dir == "" && q.Repo == "" && !q.Worktree {
		q.Dir, q.Repo, q.Worktree = r.Dir, r.Repo, r.Repo != ""
	}
	q.Account, q.Project, q.Restart, q.Heartbeat = cmp.Or(q.Account, r.Account), cmp.Or(q.Project, r.Project), cmp.Or(q.Restart, string(r.Restart)), cmp.Or(q.Heartbeat, r.Heartbeat)
	q.Headless, q.Standing, q.MemoryMax = q.Headless || r.Headless, q.Standing || r.Standing, cmp.Or(q.MemoryMax, r.MemoryMax)
	if len(q.Env) == 0 {
		q.Env = r.Env
	}
	return q
}

// endsOtherwise refuses an agent to close work that its role says is closed by its merge: that it
// is done is a fact, and not its word.
func (c *Control) endsOtherwise(w fleet.WorkItem, by string) error {
	self, isAgent := fleet.AgentOf(by)
	if !isAgent || c.Roles == nil {
		return nil
	}
	all, err := c.Registry(context.Background())
	if err != nil {
		return err
	}
	reg := ledger.Registration(all, self)
	if reg == nil {
		return nil
	}
	if r := c.role(reg.Role); r != nil && r.Ends == fleet.RoleEndsMerged {
		return ledger.Unfit("close work", "work of an agent of role %s is closed by its merge, and by a person: custos merge add --work %s", r.Name, w.ID)
	}
	return nil
}

// roleAllows refuses a start that a role speaks against: there are as many as may be, or its parent's
// role does not start such.
func (c *Control) roleAllows(q api.SpawnRequest, all []fleet.Registration, works []fleet.WorkItem) error {
	if r := c.role(q.Role); r != nil {
		if err := ledger.RoleRoom(*r, all, works); err != nil {
			return err
		}
	}
	if p := ledger.Registration(all, q.Parent); p != nil {
		return ledger.RoleMaySpawn(c.role(p.Role), q.Role)
	}
	return nil
}
