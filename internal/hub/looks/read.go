package looks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// Reader makes of rows what is shown of other hosts. A row is read once, whoever looks how often. It is
// not safe for concurrent use.
type Reader struct {
	hosts         map[string]*host
	first, number int64
}

// NewReader numbers what it reads from a number on that no Reader before it has come to.
func NewReader(first int64) *Reader {
	return &Reader{hosts: map[string]*host{}, first: first, number: first}
}

// host is what was read of a host.
type host struct {
	rows   map[string]thing
	number int64 // of its last change
	odd    int   // rows that cannot be read
}

// thing is one row as it was read. v is nil where it cannot be read, or is not what its key says.
type thing struct {
	value []byte
	at    time.Time // by the clock of its host
	v     any
}

// Looks are the hosts called names, in order, as a board holds them at a moment of the clock of this machine. Of one
// of which no row has changed since the number it is told only how it was heard.
func (r *Reader) Looks(names []string, s rows.Snapshot, now time.Time, since int64) api.HubLooks {
	out := api.HubLooks{Hosts: make([]api.HostLook, 0, len(names))}
	if since < r.first || since > r.number {
		since = 0 // of another Reader
	}
	for _, name := range names {
		told := rows.Host{Name: name}
		if i, is := slices.BinarySearchFunc(s.Hosts, name, func(h rows.Host, name string) int { return cmp.Compare(h.Name, name) }); is {
			told = s.Hosts[i]
		}
		d := r.read(told)
		look := heard(told, d, s, now)
		if look.Same = d.number <= since; !look.Same {
			d.tell(&look, told)
		}
		out.Hosts = append(out.Hosts, look)
	}
	r.forget(names)
	out.Number = r.number
	return out
}

// forget drops what was read of hosts that are none any more.
func (r *Reader) forget(names []string) {
	for name := range r.hosts {
		if _, is := slices.BinarySearch(names, name); !is {
			delete(r.hosts, name)
		}
	}
}

// read reads those rows of a host that are others than before.
func (r *Reader) read(h rows.Host) *host {
	d := r.hosts[h.Name]
	isNew := d == nil
	if isNew {
		d = &host{rows: map[string]thing{}}
		r.hosts[h.Name] = d
	}
	if changed := d.take(h.Rows); changed || isNew {
		r.number++
		d.number, d.odd = r.number, 0
		for _, t := range d.rows {
			if t.v == nil {
				d.odd++
			}
		}
	}
	return d
}

// take takes over rows, and says whether one is other than before.
func (d *host) take(all map[string][]byte) (changed bool) {
	for key := range d.rows {
		if _, is := all[key]; !is {
			delete(d.rows, key)
			changed = true
		}
	}
	for key, value := range all {
		if was, is := d.rows[key]; !is || !bytes.Equal(was.value, value) {
			d.rows[key] = readRow(key, value)
			changed = true
		}
	}
	return changed
}

// readRow reads a row.
func readRow(key string, value []byte) thing {
	out := thing{value: value}
	kind, id, is := rows.Named(key)
	at, says, _ := bytes.Cut(value, []byte(" "))
	var err error
	if out.at, err = time.Parse(time.RFC3339Nano, string(at)); err != nil || !is {
		return out
	}
	switch kind {
	case kindHost:
		out.v = as(says, func(about) bool { return id == hostID })
	case kindAgent:
		out.v = as(says, func(g api.AgentRow) bool { return g.Name == id })
	case kindNeed:
		out.v = as(says, func(api.Need) bool { return true })
	case kindAlert:
		out.v = as(says, func(api.Alert) bool { return true })
	case kindPending:
		out.v = as(says, func(api.Pending) bool { return true })
	case kindKept:
		out.v = as(says, func(name kept) bool { return string(name) == id })
	}
	return out
}

// kept is the name of an agent that is started again whatever the mode.
type kept string

// as reads text as a T; nil where it is none, or not the one that it should be.
func as[T any](text []byte, is func(T) bool) any {
	var v T
	if json.Unmarshal(text, &v) != nil || !is(v) {
		return nil
	}
	return v
}

// heard is how a host was heard.
func heard(h rows.Host, d *host, s rows.Snapshot, now time.Time) api.HostLook {
	out := api.HostLook{HostSeen: api.HostSeen{Name: h.Name, Status: "ok", Cut: cut(h, h.Odd+d.odd)}}
	if h.Run != "" {
		out.Got = now.Add(-h.Age)
	}
	switch why := d.unknown(h, s); {
	case !s.Whole && (s.Blind == "" || s.Blind == rows.Unwatched):
		out.HostSeen.Status = "pending"
	case why != "":
		out.HostSeen.Status, out.Why, out.Silent = "unknown", why, cmp.Or(out.Got, now)
	}
	return out
}

// unknown is why what a host tells is not how it is now; "" where it is.
func (d *host) unknown(h rows.Host, s rows.Snapshot) string {
	a, seen := d.rows[hostRow].v.(about)
	switch {
	case s.Blind != "":
		return "the hub tells nothing: " + fleet.Line(s.Blind, 200)
	case h.Run == "":
		return "it has joined the hub, and was never heard"
	case h.IsLate():
		return "it tells nothing any more"
	case h.Doubled:
		return "two daemons tell under its name: custos runbook host"
	case !seen:
		return "it has told nothing of itself yet"
	case a.Why != "":
		return "it cannot look at itself: " + fleet.Line(a.Why, 200)
	}
	return ""
}

// tell says what a host shows. All ages are as of when it was heard last.
func (d *host) tell(out *api.HostLook, h rows.Host) {
	out.AsOf, out.Look.At = out.Got, h.Said
	for _, t := range d.rows {
		lasted := h.Said.Sub(t.at)
		switch v := t.v.(type) {
		case about:
			out.Look.Mode, out.Look.Frozen, out.Look.Housekeeping = fleet.Line(v.Mode, 20), fleet.Line(v.Frozen, 200), v.Housekeeping
			out.Offers = v.Offers
		case api.AgentRow:
			v.Since = api.Longer(v.Since, lasted)
			out.Look.Agents = append(out.Look.Agents, v)
		case api.Need:
			out.Look.NeedsYou = append(out.Look.NeedsYou, v)
		case api.Alert:
			v.For = api.Longer(v.For, lasted)
			out.Alerts = append(out.Alerts, v)
		case api.Pending:
			v.For = api.Longer(v.For, lasted)
			out.Pending = append(out.Pending, v)
		case kept:
			out.Kept = append(out.Kept, string(v))
		}
	}
	inOrder(out)
}

// cut says that not all of a host is shown; "" where all is.
func cut(h rows.Host, odd int) string {
	var left rows.Cut
	if h.Cut != nil {
		odd++
	}
	if json.Unmarshal(h.Cut, &left) == nil {
		odd += left.More + left.Odd + len(left.Large) - 1
	}
	if odd <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of its rows are too large, too many, or cannot be read here", odd)
}

// inOrder sorts what came in none, as a host itself would show it.
func inOrder(h *api.HostLook) {
	slices.SortFunc(h.Look.Agents, func(a, b api.AgentRow) int { return cmp.Compare(a.Name, b.Name) })
	api.SortAgents(h.Look.Agents)
	slices.SortFunc(h.Look.NeedsYou, func(a, b api.Need) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	api.SortNeeds(h.Look.NeedsYou)
	slices.SortFunc(h.Alerts, func(a, b api.Alert) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	api.SortAlerts(h.Alerts)
	slices.SortFunc(h.Pending, func(a, b api.Pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.What, b.What))
	})
	slices.Sort(h.Kept)
}
