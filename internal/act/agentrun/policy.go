package agentrun

import (
	"maps"
	"path/filepath"
	"strings"

	"custos/internal/fleet"
	"custos/internal/policy"
	"custos/internal/sys/worktree"
)

// policyVar names the compiled policy to custos-hook, which the agent's hooks call.
const policyVar = "CUSTOS_POLICY"

// policy compiles what an agent's calls are judged by, with the places of the folder that it is
// started in, into a file beside those of the hooks. A role without a policy, and a kind
// without hooks, get none, and nothing of their start is different.
func (l *Launcher) policy(r fleet.Registration, instance, dir string, b *Begin) (env []string, err error) {
	if l.o.Policy == nil || l.o.Hook == "" || !l.Kinds.Hooked(r.Kind) {
		return nil, nil
	}
	p, ok := l.o.Policy(r.Role)
	if !ok {
		return nil, nil
	}
	text, err := policy.Compiled{Agent: r.Name, Instance: instance, Policy: p, Places: l.places(dir)}.Encode()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(l.o.Run, "policies", r.Name+".json")
	b.Files = maps.Clone(b.Files)
	if b.Files == nil {
		b.Files = map[string][]byte{}
	}
	b.Files[file] = text
	return []string{policyVar + "=" + file}, nil
}

// places are what lies where for an agent that is started in a folder (raw).
func (l *Launcher) places(dir string) policy.Places {
	w := worktree.Find(dir)
	places := policy.Places{Worktree: w.Top, GitDir: w.GitDir, Common: w.Common, Others: w.Others, Custos: append([]string{l.o.Run, l.Shims}, l.o.Own...)}
	if places.Worktree == "" {
		places.Worktree = filepath.Clean(dir)
	}
	for _, kv := range l.o.Environ() {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(home) {
			places.Home = filepath.Clean(home)
		}
	}
	return places
}
