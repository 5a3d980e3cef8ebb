package fleet

import "slices"

// Head is what all records of coordination have.
type Head struct {
	// ID is given by the store: a letter and a number that no other record has.
	ID string `json:"id"`
	// Key, when there is one, is the same for the same thing: a record whose key is
	// known is not written again. It is what makes news of one thing one mail.
	Key string `json:"key,omitempty"`
	// Revision counts the changes; the store's own. 0: it is new.
	Revision int64 `json:"revision,omitempty"`
}

// Front returns it, so that records of different kinds are kept alike.
func (h *Head) Front() *Head { return h }

// Records are what people and agents coordinate by. As part of the past they are
// all that count: work, convoys and gates that are not over, and those that
// changed within a month; mail and triggers that are not over, or a day old at
// most; each in the order it was written down. As part of a turn they are those
// that are new, or changed.
type Records struct {
	Work         []WorkItem   `json:"work,omitempty"`
	Dependencies []Dependency `json:"dependencies,omitempty"`
	Gates        []Gate       `json:"gates,omitempty"`
	Convoys      []Convoy     `json:"convoys,omitempty"`
	Mails        []Mail       `json:"mails,omitempty"`
	Triggers     []Trigger    `json:"triggers,omitempty"`
	Merges       []MergeItem  `json:"merges,omitempty"`
	MergeGroups  []MergeGroup `json:"merge_groups,omitempty"`
	MergeHolds   []MergeHold  `json:"merge_holds,omitempty"`
}

// IsZero says whether there is none.
func (r Records) IsZero() bool {
	return max(
		len(r.Work),
		len(r.Dependencies),
		len(r.Gates),
		len(r.Convoys),
		len(r.Mails),
		len(r.Triggers),
		len(r.Merges),
		len(r.MergeGroups),
		len(r.MergeHolds),
	) == 0
}

// And is these records and more.
func (r Records) And(more Records) Records {
	return Records{
		Work:         laterWork(r.Work, more.Work),
		Dependencies: append(r.Dependencies, more.Dependencies...),
		Gates:        append(r.Gates, more.Gates...),
		Convoys:      append(r.Convoys, more.Convoys...),
		Mails:        append(r.Mails, more.Mails...),
		Triggers:     append(r.Triggers, more.Triggers...),
		Merges:       append(r.Merges, more.Merges...),
		MergeGroups:  append(r.MergeGroups, more.MergeGroups...),
		MergeHolds:   append(r.MergeHolds, more.MergeHolds...),
	}
}

// laterWork adds work to a list; of a piece that both have, the later one holds: it was
// made of the one before.
func laterWork(list, more []WorkItem) []WorkItem {
	for _, w := range more {
		if i := slices.IndexFunc(list, func(o WorkItem) bool { return w.ID != "" && o.ID == w.ID }); i >= 0 {
			list[i] = w
			continue
		}
		list = append(list, w)
	}
	return list
}
