package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// Snapshot is what is seen at this moment: the healthy world, and what the story
// changes of it. kinds are those that signals are read by.
func (s Step) Snapshot(kinds *agent.Kinds) (fleet.Snapshot, error) {
	seen := Healthy(Start().Add(s.At))
	for _, l := range s.Changes {
		if err := apply(&seen, l, kinds, s.screens); err != nil {
			return fleet.Snapshot{}, err
		}
	}
	return seen, nil
}

func apply(seen *fleet.Snapshot, l Line, kinds *agent.Kinds, screens map[string]string) error {
	subject, patch, _ := strings.Cut(l.Rest, " ")
	switch l.Word {
	case "agents":
		seen.Agents.Value = nil
		for _, name := range strings.Fields(l.Rest) {
			if slices.ContainsFunc(seen.Agents.Value, func(a fleet.Agent) bool { return a.Name == name }) {
				return l.Errorf("agent %q stands there twice", name)
			}
			seen.Agents.Value = append(seen.Agents.Value, HealthyAgent(name))
		}
		return nil
	case "part":
		sight := seen.Sight(fleet.PartName(subject))
		if sight == nil {
			return l.Errorf("there is no part %q%s", subject, nearest.Hint(subject, parts()))
		}
		return set(l, sight, patch)
	case "gone":
		return gone(seen, l, subject)
	}
	to, err := target(seen, l, subject)
	if err != nil {
		return err
	}
	if l.Word == "set" {
		return set(l, to, patch)
	}
	return signal(seen, l, to, patch, kinds, screens)
}

func parts() (out []string) {
	for _, p := range fleet.PartNames() {
		out = append(out, string(p))
	}
	return out
}

// target is what a line is about: the one thing of a kind, or the agent of a name,
// which is there from then on.
func target(seen *fleet.Snapshot, l Line, subject string) (any, error) {
	if name, named := strings.CutPrefix(subject, "agent/"); named {
		return agentNamed(seen, name), nil
	}
	t, ok := find(subject)
	if !ok {
		return nil, l.Errorf("there is no %q to set%s", subject, nearest.Hint(subject, Kinds()))
	}
	to := t.at(seen)
	if to == nil {
		return nil, l.Errorf("there is no %s any more", subject)
	}
	return to, nil
}

func agentNamed(seen *fleet.Snapshot, name string) *fleet.Agent {
	for i := range seen.Agents.Value {
		if seen.Agents.Value[i].Name == name {
			return &seen.Agents.Value[i]
		}
	}
	seen.Agents.Value = append(seen.Agents.Value, HealthyAgent(name))
	return &seen.Agents.Value[len(seen.Agents.Value)-1]
}

func gone(seen *fleet.Snapshot, l Line, subject string) error {
	if name, named := strings.CutPrefix(subject, "agent/"); named {
		list := seen.Agents.Value[:0:0]
		for _, a := range seen.Agents.Value {
			if a.Name != name {
				list = append(list, a)
			}
		}
		if len(list) == len(seen.Agents.Value) {
			return l.Errorf("there is no agent %q to be gone", name)
		}
		seen.Agents.Value = list
		return nil
	}
	t, ok := find(subject)
	if !ok || t.gone == nil {
		return l.Errorf("%q cannot be gone%s", subject, nearest.Hint(subject, Kinds()))
	}
	t.gone(seen)
	return nil
}

// set changes fields of a value as JSON says. A field that is not there, and a word that
// none of its vocabulary is, is refused.
func set(l Line, to any, patch string) error {
	d := json.NewDecoder(bytes.NewReader([]byte(patch)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return l.Errorf("%s: %v", patch, err)
	}
	if d.More() {
		return l.Errorf("%s: something stands behind it", patch)
	}
	if err := fleet.CheckWords(to); err != nil {
		return l.Errorf("%v", err)
	}
	return nil
}
