package server

import (
	"context"
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// memory keeps records as the store does, and is followed by no pass.
type memory struct {
	w    *world
	all  fleet.Records
	next map[string]int
}

func (m *memory) past() fleet.Past {
	return fleet.Past{Records: m.all, Registrations: m.w.registrations}
}

func (m *memory) snap() fleet.Snapshot {
	s := m.w.pass.Snapshot
	s.At = instant(0)
	return s
}

func (m *memory) Seen(context.Context) (fleet.Past, fleet.Snapshot, error) {
	return m.past(), m.snap(), nil
}

func (m *memory) Edit(_ context.Context, edit func(fleet.Records) (fleet.Records, error)) (out fleet.Records, err error) {
	changed, err := edit(m.all)
	if err != nil {
		return out, err
	}
	out.Work = keep(m, "w", &m.all.Work, changed.Work)
	out.Dependencies = keep(m, "d", &m.all.Dependencies, changed.Dependencies)
	out.Gates = keep(m, "g", &m.all.Gates, changed.Gates)
	out.Convoys = keep(m, "c", &m.all.Convoys, changed.Convoys)
	out.Triggers = keep(m, "t", &m.all.Triggers, changed.Triggers)
	out.Merges = keep(m, "mq", &m.all.Merges, changed.Merges)
	out.MergeHolds = keep(m, "mh", &m.all.MergeHolds, changed.MergeHolds)
	out.Mails = keep(m, "m", &m.all.Mails, changed.Mails)
	return out, nil
}

func keep[T any, P interface {
	*T
	Front() *fleet.Head
}](m *memory, prefix string, into *[]T, list []T) (out []T) {
	for _, v := range list {
		head := P(&v).Front()
		i := slices.IndexFunc(*into, func(o T) bool {
			h := P(&o).Front()
			return head.Revision > 0 && h.ID == head.ID || head.Revision == 0 && head.Key != "" && h.Key == head.Key
		})
		switch {
		case i >= 0 && head.Revision == 0:
			v = (*into)[i]
		case i >= 0:
			head.Revision++
			(*into)[i] = v
		default:
			if m.next == nil {
				m.next = map[string]int{}
			}
			m.next[prefix]++
			head.ID, head.Revision = fmt.Sprint(prefix, m.next[prefix]), 1
			*into = append(*into, v)
		}
		out = append(out, v)
	}
	return out
}
