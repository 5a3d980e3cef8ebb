package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"custos/internal/fleet"
)

// RoleSum is a short digest of what a start takes from a role. What counts at each moment (how many, whom they may
// start, which work, how it ends) is not in it; neither is the policy, nor what stands in the files of its context, which each start
// reads anew.
func RoleSum(r fleet.Role) string {
	text, _ := json.Marshal(fleet.Role{Kind: r.Kind, Argv: r.Argv, Env: r.Env, Account: r.Account, Project: r.Project, Repo: r.Repo, Dir: r.Dir, Prompt: r.Prompt,
		Headless: r.Headless, Restart: r.Restart, Standing: r.Standing, MemoryMax: r.MemoryMax, Heartbeat: r.Heartbeat, Context: r.Context, ReportsTo: r.ReportsTo}) // plain values
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
