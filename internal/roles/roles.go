// Package roles says of the roles of custos.toml what holds for them, who has them, and what is doubtful with them, in
// the words of the published face. In go the roles, what custos.toml says beside them, and the registrations; it is
// pure, and looks nothing up but by what it is handed.
package roles

import (
	"cmp"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Whole is a role of custos.toml, as it is shown so far (v, with its policy), with all that holds for it: what says each key,
// by line (custos.toml:12; "" where the file does not), the budgets that count its agents, and who has it.
func Whole(v api.Role, r fleet.Role, line func(role, key string) string, all []fleet.Registration, budgets []fleet.Budget) api.Role {
	v.From = keys(r, line)
	for _, b := range budgetsOf(r, all, budgets) {
		limits, _ := b.Limits()
		v.Budgets = append(v.Budgets, api.RoleBudget{Name: b.Name, Scope: string(b.By), Of: b.Of, Window: string(b.Window), Limits: limits})
	}
	for i := range all {
		if a := &all[i]; a.Role == r.Name && a.Desired == fleet.DesiredRunning {
			v.Having = append(v.Having, having(*a, r, v.Policy))
		}
	}
	v.Next = []api.Hint{{Command: "custos role lint " + r.Name, What: "what is doubtful with it"}}
	return v
}

func having(a fleet.Registration, r fleet.Role, policy string) api.RoleAgent {
	drift, known := drift(a, r, policy)
	state := "same"
	switch {
	case len(drift) > 0:
		state = "drift"
	case !known:
		state = "unknown"
	}
	return api.RoleAgent{Agent: a.Name, State: state, Drift: drift}
}

// keys says of each key that a role has what says it.
func keys(r fleet.Role, line func(role, key string) string) map[string]string {
	from := map[string]string{}
	for key, set := range map[string]bool{"kind": r.Kind != "", "argv": len(r.Argv) > 0, "env": len(r.Env) > 0, "account": r.Account != "", "project": r.Project != "", "repo": r.Repo != "",
		"dir": r.Dir != "", "prompt": r.Prompt != "", "headless": r.Headless, "restart": r.Restart != "", "standing": r.Standing, "memory": r.MemoryMax > 0, "heartbeat": r.Heartbeat != "",
		"may_spawn": r.MaySpawn != nil, "reports_to": r.ReportsTo != "", "mails": r.Mails != nil, "max": r.Max > 0, "ends": r.Ends != "", "takes": r.Takes != "", "tries": r.Tries > 0, "what": r.What != "", "preset": r.Preset != "", "context": len(r.Context) > 0} {
		if set {
			from[key] = line(r.Name, key)
		}
	}
	if r.Kind != "" {
		from["kind"] = cmp.Or(from["kind"], from["argv"])
	}
	for key := range from {
		from[key] = cmp.Or(from[key], "preset "+r.Preset)
	}
	from["preset"] = cmp.Or(line(r.Name, "preset"), "its name")
	if r.Preset == "" {
		delete(from, "preset")
	}
	return from
}

// drift is what an agent was started with otherwise than its role says now: "role" for its section, "policy" for
// the policy that it names. known is false where it is not on record what its role said then.
func drift(a fleet.Registration, r fleet.Role, policy string) (drift []string, known bool) {
	if a.RoleSum != "" && a.RoleSum != ledger.RoleSum(r) {
		drift = append(drift, "role")
	}
	if a.Instance != "" && a.Policy != policy {
		drift = append(drift, "policy")
	}
	return drift, a.RoleSum != ""
}

// budgetsOf are the budgets that count agents of a role, by what the role says and by those that have it: what counts
// each agent, run or piece of work by itself counts theirs.
func budgetsOf(r fleet.Role, all []fleet.Registration, budgets []fleet.Budget) (out []fleet.Budget) {
	who := []fleet.Spender{{Role: r.Name, Project: r.Project, Account: r.Account, Kind: r.Kind}}
	for i := range all {
		if a := &all[i]; a.Role == r.Name && a.Desired == fleet.DesiredRunning {
			who = append(who, fleet.Spender{Agent: a.Name, Role: a.Role, Project: a.Project, Account: a.Account, Run: a.Run, Work: a.Task, Kind: cmp.Or(a.Kind, r.Kind)})
		}
	}
	for i := range budgets {
		b, single := &budgets[i], false
		switch b.By {
		case fleet.SpendByAgent, fleet.SpendByRun, fleet.SpendByWork:
			single = b.Of == ""
		}
		for n := range who {
			if _, counts := b.Allowance(who[n]); counts || single {
				out = append(out, *b)
				break
			}
		}
	}
	return out
}
