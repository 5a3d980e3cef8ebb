package rules

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// View is a snapshot as expressions see it. What comes from a part that is not
// usable is unknown. A View is for one goroutine; it reads the snapshot and
// never changes it.
type View struct {
	snap  *fleet.Snapshot
	fresh bool // what comes from a part that is not fresh is unknown, too

	subject, target         ref.Val
	subjectKind, targetKind fleet.Kind

	host, self, now ref.Val
	lists           map[string]ref.Val
	roll            *roll // of what belongs together; nil until it is asked for
}

// NewView returns the view of a snapshot. With fresh, stale parts are unknown:
// what may an action rest on?
func NewView(snap *fleet.Snapshot, fresh bool) *View {
	v := &View{snap: snap, fresh: fresh, lists: map[string]ref.Val{}}
	v.now = types.Timestamp{Time: snap.At.Wall}
	v.host = v.guard(fleet.PartHost, object{"host", &snap.Host.Value})
	v.self = v.guard(fleet.PartSelf, object{"self", &snap.Self.Value})
	return v
}

// Subject sets what is judged: a pointer to the value of the kind (*fleet.Agent
// for agent, *Part for part); ignored for host and self.
func (v *View) Subject(k fleet.Kind, value any) { v.subjectKind, v.subject = k, v.wrap(k, value) }

// Target sets what an action might be done to, as Subject does.
func (v *View) Target(k fleet.Kind, value any) { v.targetKind, v.target = k, v.wrap(k, value) }

// NoTarget forgets the target.
func (v *View) NoTarget() { v.targetKind, v.target = "", nil }

// Seen is a subject made ready by See.
type Seen struct{ val ref.Val }

// See makes a subject ready, so that many rules can Use it.
func (v *View) See(k fleet.Kind, value any) Seen { return Seen{v.wrap(k, value)} }

// Use is Subject for what See returned.
func (v *View) Use(k fleet.Kind, s Seen) { v.subjectKind, v.subject = k, s.val }

func (v *View) wrap(k fleet.Kind, value any) ref.Val {
	return v.guard(partOf(k), object{string(k), value})
}

// guard answers unknown for what comes from a part that may not be read.
func (v *View) guard(part fleet.PartName, val ref.Val) ref.Val {
	if part == "" {
		return val
	}
	s := v.snap.Sight(part)
	if s.Usable() && (!v.fresh || s.Fresh()) {
		return val
	}
	return unseen(string(part), Blindness(part, *s))
}

// Blindness says in words how a part that is not fresh was seen.
func Blindness(part fleet.PartName, s fleet.Sight) string {
	text := string(s.Status)
	if text == "" {
		text = string(fleet.StatusPending)
	}
	if s.Why != "" {
		text += " (" + s.Why + ")"
	}
	if s.Cut != "" {
		text += ", and cut: " + s.Cut
	}
	return text
}

// Parent is part of cel.Activation.
func (v *View) Parent() cel.Activation { return nil }

// ResolveName is part of cel.Activation. A target hides a subject of its kind.
func (v *View) ResolveName(name string) (any, bool) {
	switch name {
	case string(v.targetKind):
		if v.target != nil {
			return v.target, true
		}
	case "host":
		return v.host, true
	case "self":
		return v.self, true
	case "engine":
		return v.guard(fleet.PartEngine, object{"engine", &v.snap.Engine.Value}), true
	case "now":
		return v.now, true
	}
	if name == string(v.subjectKind) && v.subject != nil {
		return v.subject, true
	}
	switch name {
	case agentsOfName, formerAgentsOf:
		return v.itsAgents(), true
	case fixesName:
		return v.fixes(), true
	case treeName:
		return v.tree(), true
	case itsWorkName:
		return v.itsWork(), true
	}
	return v.list(name)
}

// list makes a list when it is first asked for: most rules need none.
func (v *View) list(name string) (any, bool) {
	if l, ok := v.lists[name]; ok {
		return l, true
	}
	for _, x := range lists() {
		if x.name == name {
			l := v.guard(x.part, v.all(x))
			v.lists[name] = l
			return l, true
		}
	}
	return nil, false
}

// all is a list, unless things were left out of it: then nothing can be said of all
// of them.
func (v *View) all(list variable) ref.Val {
	if s := v.snap.Sight(list.part); s.Cut != "" {
		return unseen(string(list.part), Blindness(list.part, *s))
	}
	return list.all(v.snap)
}
