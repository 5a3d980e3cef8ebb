package loop_test

import (
	"fmt"

	"custos/internal/fleet"
)

// keep writes the records of a turn into a book, as the store does.
func keep(all *fleet.Records, r fleet.Records) {
	keepEach(&all.Work, r.Work, "w")
	keepEach(&all.Dependencies, r.Dependencies, "d")
	keepEach(&all.Gates, r.Gates, "g")
	keepEach(&all.Convoys, r.Convoys, "c")
	keepEach(&all.Mails, r.Mails, "m")
	keepEach(&all.Triggers, r.Triggers, "t")
}

func keepEach[T any, P interface {
	*T
	Front() *fleet.Head
}](all *[]T, list []T, prefix string) {
	for _, v := range list {
		head, known := P(&v).Front(), -1
		for i := range *all {
			if old := P(&(*all)[i]).Front(); head.Revision > 0 && old.ID == head.ID || head.Revision == 0 && head.Key != "" && old.Key == head.Key {
				known = i
			}
		}
		switch {
		case known < 0:
			head.ID, head.Revision = fmt.Sprintf("%s%d", prefix, len(*all)+1), 1
			*all = append(*all, v)
		case head.Revision > 0:
			head.Revision++
			(*all)[known] = v
		}
	}
}

// recall is a copy of what was kept.
func recall(all fleet.Records) (out fleet.Records) {
	return fleet.Records{Work: append(out.Work, all.Work...), Dependencies: append(out.Dependencies, all.Dependencies...), Gates: append(out.Gates, all.Gates...),
		Convoys: append(out.Convoys, all.Convoys...), Mails: append(out.Mails, all.Mails...), Triggers: append(out.Triggers, all.Triggers...)}
}
