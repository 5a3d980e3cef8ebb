package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// missRecord: record KIND/ID STATE, once the moment is committed.
func (w Want) missRecord(p fleet.Pass) (string, error) {
	record, want, _ := strings.Cut(w.Rest, " ")
	got := states(p.Past.Records)
	for name, state := range states(p.Plan.Records) {
		got[name] = state
	}
	is, found := got[record]
	if !found {
		return "", w.Errorf("there is no record %q: gate/g1, work/w1, convoy/c1, mail/m1, as a story has numbered them", record)
	}
	return unless(is == want, "it is %s", is), nil
}

// recordState refuses a state that a record of its kind is never in. A mail has one for
// each of its readers.
func (w Want) recordState() error {
	record, want, _ := strings.Cut(w.Rest, " ")
	kind, _, _ := strings.Cut(record, "/")
	all := fleet.Words(map[string]reflect.Type{
		string(fleet.KindWork): reflect.TypeFor[fleet.WorkState](), string(fleet.KindGate): reflect.TypeFor[fleet.GateState](),
		string(fleet.KindConvoy): reflect.TypeFor[fleet.ConvoyState](), string(fleet.KindMerge): reflect.TypeFor[fleet.MergeState](),
	}[kind])
	if needs, ok := strings.CutPrefix(want, "<- "); ok { // work/w1 <- w2 resolved
		all = fleet.Words(reflect.TypeFor[fleet.DependencyState]())
		_, want, _ = strings.Cut(needs, " ")
	}
	list := []string{want}
	if kind == string(fleet.KindMail) {
		all = []string{string(fleet.CopyNew), string(fleet.CopyTold), string(fleet.CopyRead), string(fleet.CopyArchived), string(fleet.CopyBounced), string(fleet.CopyUnread), "known"}
		list = strings.Split(want, ", ")
	}
	for _, state := range list {
		if len(all) > 0 && !slices.Contains(all, state) {
			return w.Errorf("there is no state %q of a %s%s", state, kind, nearest.Hint(state, all))
		}
	}
	return nil
}

// states are those of all records, by kind and ID.
func states(r fleet.Records) map[string]string {
	out := map[string]string{}
	add := func(kind fleet.Kind, id string, state any) {
		out[fleet.Subject{Kind: kind, Name: id}.String()] = fmt.Sprint(state)
	}
	for _, v := range r.Work {
		add(fleet.KindWork, v.ID, v.State)
	}
	for _, v := range r.Gates {
		add(fleet.KindGate, v.ID, v.State)
	}
	for _, v := range r.Convoys {
		add(fleet.KindConvoy, v.ID, v.State)
	}
	for _, v := range r.Merges {
		add(fleet.KindMerge, v.ID, v.State)
	}
	for _, v := range r.Mails {
		add(fleet.KindMail, v.ID, copies(v))
	}
	return out
}

// copies is how its readers have a mail: each way once, in their order.
func copies(m fleet.Mail) string {
	var list []string
	for _, c := range m.Copies {
		if !slices.Contains(list, string(c.State)) {
			list = append(list, string(c.State))
		}
	}
	return cmp.Or(strings.Join(list, ", "), "new")
}
