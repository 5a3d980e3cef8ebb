package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// What of asks fits into one message, whatever the receiver: Telegram takes 4096
// characters, and no one may approve what was cut off.
const (
	mostAsks     = 10   // alerts
	longestAsk   = 1200 // runes of one
	longestAsks  = 2400 // runes of all
	longestOfAsk = maxLine
)

// asking are the asks that a message shows, whole, of the alerts it tells of. One
// that has no room there is not asked.
func (d *delivery) asking(list []entry) map[fleet.AlertKey]fleet.Ask {
	out, room, lines := map[fleet.AlertKey]fleet.Ask{}, longestAsks, maxLines
	for _, e := range list {
		ask, known := d.s.Asks[e.alert.AlertKey]
		size := askSize(ask)
		if !known || ask.Key() == "" || e.what == hasEnded || e.what == cameAndWent || len(out) == mostAsks || !fits(ask) || size > room || len(ask.Lines) > lines {
			continue
		}
		out[e.alert.AlertKey] = ask
		room, lines = room-size, lines-len(ask.Lines)
	}
	return out
}

// askSize counts the runes of an ask; one with a line that would be cut is too
// large for any message.
func askSize(a fleet.Ask) (n int) {
	for _, l := range a.Lines {
		size := len([]rune(l))
		if size > longestOfAsk {
			return longestAsk + 1
		}
		n += size
	}
	return n
}

// fits says whether there is a message that has room for an ask.
func fits(a fleet.Ask) bool { return askSize(a) <= longestAsk && len(a.Lines) <= maxLines }

// asks are the lines of what a message asks.
func (d *delivery) asks(list []entry) (lines []string) {
	asking := d.asking(list)
	for _, e := range list {
		lines = append(lines, asking[e.alert.AlertKey].Lines...)
		delete(asking, e.alert.AlertKey)
	}
	return lines
}

// asksAnew says whether what a receiver was asked about an alert is not what it is
// to be asked now.
func (d *delivery) asksAnew(a fleet.Alert, w Word) bool {
	ask := d.s.Asks[a.AlertKey]
	return ask.Key() != "" && ask.Key() != w.Ask && a.AckedBy == "" && fits(ask)
}

// AskedOf returns with which ask an alert was told last, of what Memory kept of a
// receiver, and when; "" when it was told with none. A message that may not have
// arrived counts: who answers it has seen it.
func AskedOf(told []byte, key fleet.AlertKey) (hash string, at fleet.Instant) {
	var t Delivered
	if json.Unmarshal(told, &t) != nil {
		return "", fleet.Instant{}
	}
	w := t.Alerts[key.String()]
	if t.Open != nil {
		if open, ok := t.Open.Words[key.String()]; ok {
			w = open
		}
	}
	if !w.Over.IsZero() {
		return "", fleet.Instant{}
	}
	return w.Ask, w.At
}

// asksOf are the asks of a scene for one receiver: none for who cannot answer.
func (r *Reporter) asksOf(to string, s Scene) map[fleet.AlertKey]fleet.Ask {
	if !slices.Contains(r.o.Answering, to) {
		return nil
	}
	return s.Asks
}

// asksNow is what people may approve now. When that cannot be told, they are told
// of the alerts all the same.
func (r *Reporter) asksNow(ctx context.Context) map[fleet.AlertKey]fleet.Ask {
	if r.o.Asks == nil || len(r.o.Answering) == 0 {
		return nil
	}
	asks, err := r.o.Asks(ctx)
	if err != nil {
		r.fail(fmt.Errorf("cannot find what may be approved: %w", err))
	}
	return asks
}
