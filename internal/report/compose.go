package report

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"custos/internal/fleet"
)

// What a message may hold. Matrix takes 64 KiB, and clips nothing by itself;
// Telegram, which takes 4096 characters, is clipped by its own notifier.
const (
	maxSubject = 200      // runes
	maxBody    = 16 << 10 // bytes
	maxLines   = 20       // of one list
	maxLine    = 400      // runes
)

// delivery is the message of what was chosen, and what the receiver knows then.
func (d *delivery) delivery(list []entry, news []fleet.Message) *Delivery {
	out := &Delivery{Words: map[string]Word{}}
	asking := d.asking(list)
	for _, e := range list {
		w := d.word(e)
		w.Ask = asking[e.alert.AlertKey].Key()
		out.Words[e.alert.String()] = w
		if !slices.Contains(out.Routes, e.route.Name) {
			out.Routes = append(out.Routes, e.route.Name)
		}
	}
	for _, m := range news {
		out.News = append(out.News, m.ID)
	}
	for k, e := range d.edges { // the details of what is told are told with it
		for _, m := range []*fleet.Message{e.began, e.ended} {
			if _, told := out.Words[k.String()]; told && m != nil {
				out.News = append(out.News, m.ID)
			}
		}
	}
	slices.Sort(out.News)
	out.Message = d.message(list, news)
	return out
}

// word is what the receiver knows of an alert once it was told.
func (d *delivery) word(e entry) Word {
	a := e.alert
	a.Evidence, a.Changes, a.CausedBy = nil, nil, nil
	w := Word{Alert: a, Route: e.route.Name, Loud: e.loud, At: d.s.At, Times: e.times, Details: e.details}
	if e.what == hasEnded || e.what == cameAndWent {
		w.Over, w.Details = d.s.At, ""
	}
	return w
}

func (d *delivery) message(list []entry, news []fleet.Message) fleet.Message {
	open := d.stillOpen(list)
	m := fleet.Message{At: d.s.At, Priority: gravest(list, news), AllClear: open == 0 && slices.ContainsFunc(list, func(e entry) bool { return e.what == hasEnded })}
	if len(list) == 1 && len(news) == 0 {
		m.Alert = list[0].alert.AlertKey
	}
	m.Subject = d.subject(list, news, open, m.AllClear)
	m.Body = d.text(list, news)
	m.Asks = len(d.asks(list)) > 0
	m.ID = d.id(list, news)
	return safe(m)
}

// stillOpen counts what the receiver was told of, or is told now, and has not ended.
func (d *delivery) stillOpen(list []entry) int {
	open := map[string]bool{}
	for k, w := range d.t.Alerts {
		open[k] = w.Over.IsZero()
	}
	for _, e := range list {
		open[e.alert.String()] = e.what != hasEnded && e.what != cameAndWent
	}
	n := 0
	for _, is := range open {
		if is {
			n++
		}
	}
	return n
}

// gravest is the priority of the worst that is told.
func gravest(list []entry, news []fleet.Message) fleet.Priority {
	worst := fleet.P4
	for _, e := range list {
		worst = min(worst, e.loud)
	}
	for _, m := range news {
		worst = min(worst, m.Priority)
	}
	return worst
}

func (d *delivery) subject(list []entry, news []fleet.Message, open int, clear bool) string {
	on := "custos: "
	if d.s.Host != "" {
		on = "custos on " + d.s.Host + ": "
	}
	n := counted(list)
	switch {
	case clear && n[hasBegun]+n[gotWorse]+n[goesOn] == 0:
		return on + "all clear"
	case len(list) == 0 && len(news) == 1:
		return on + news[0].Subject
	case len(list) == 0:
		return fmt.Sprintf("%s%d messages", on, len(news))
	case len(list) == 1 && len(news) == 0:
		return on + headed(list[0])
	}
	var parts []string
	for i, word := range []string{"new", "worse", "not taken up", "ended", "came and went", "to answer"} {
		if k := n[hasBegun+change(i)]; k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, word))
		}
	}
	return fmt.Sprintf("%s%s, %d open", on, strings.Join(parts, ", "), open)
}

func counted(list []entry) map[change]int {
	n := map[change]int{}
	for _, e := range list {
		n[e.what]++
	}
	return n
}

// headed is the one thing a message tells, in its subject.
func headed(e entry) string {
	switch e.what {
	case gotWorse:
		return "worse: " + line(e.alert)
	case goesOn:
		return fmt.Sprintf("not taken up, told %d times: %s", e.times, line(e.alert))
	case hasEnded:
		return "ended: " + line(e.alert)
	case cameAndWent:
		return "came and went: " + line(e.alert)
	case asksOther:
		return "asks: " + line(e.alert)
	}
	return line(e.alert)
}

func (d *delivery) text(list []entry, news []fleet.Message) string {
	var b strings.Builder
	of := func(what ...change) []entry {
		return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return !slices.Contains(what, e.what) })
	}
	section(&b, "Asks", d.asks(list))
	section(&b, "Fixed", mended(of(hasEnded, cameAndWent)))
	section(&b, "Alerts", each(of(hasBegun, gotWorse, asksOther), d.sentence))
	section(&b, "Not taken up yet", each(of(goesOn), d.sentence))
	section(&b, "Ended", each(of(hasEnded), d.sentence))
	section(&b, "Came and went, untold", each(of(cameAndWent), d.sentence))
	for _, m := range news {
		fmt.Fprintf(&b, "%s\n%s", m.Subject, lineEnded(m.Body))
	}
	if s := d.status(); s != "" {
		b.WriteString(s + "\n")
	}
	return b.String()
}

// lineEnded is a text that ends its line, or nothing.
func lineEnded(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// sentence says of an alert since when it is so, and how to learn more of it.
func (d *delivery) sentence(e entry) string {
	since := e.since.Wall.UTC().Format("15:04 MST")
	if age := d.s.At.Since(e.since); age >= 12*time.Hour {
		since = e.since.Wall.UTC().Format("2006-01-02 15:04 MST")
	}
	parts := []string{"since " + since}
	if age := d.s.At.Since(e.since).Round(time.Minute); age > 0 && e.what != cameAndWent {
		parts[0] += ", for " + strings.TrimSuffix(age.String(), "0s")
	}
	if e.loud != e.alert.Priority && e.what != hasEnded {
		parts = append(parts, "counts as "+string(e.loud)+" by now")
	}
	switch {
	case e.what == goesOn:
		parts = append(parts, fmt.Sprintf("told %d times", e.times), fmt.Sprintf("custos ack %d", e.alert.Number))
	case e.alert.Number > 0:
		parts = append(parts, fmt.Sprintf("custos why %d", e.alert.Number))
	}
	if e.alert.Flapping {
		parts = append(parts, "it comes and goes")
	}
	out := fmt.Sprintf("%s (%s)", line(e.alert), strings.Join(parts, "; "))
	if e.what != hasEnded && e.what != cameAndWent {
		for _, l := range without(e.details, statusLine) {
			out += "; " + l
		}
	}
	return out
}

// mended lists what was done about what ended.
func mended(list []entry) (out []string) {
	for _, e := range list {
		out = append(out, without(e.details, statusLine)...)
	}
	return out
}

// statusLine begins the line of a message's body that tells how the host does.
const statusLine = "Status: "

// without returns the lines of a text that do not begin with prefix.
func without(text, prefix string) (out []string) {
	for l := range strings.SplitSeq(text, "\n") {
		if l != "" && !strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return out
}

// status is how the host does now; else the newest word on it, if it is fresh.
func (d *delivery) status() (out string) {
	if d.s.Status != "" {
		return statusLine + d.s.Status
	}
	var at fleet.Instant
	for _, m := range d.s.News {
		for l := range strings.SplitSeq(m.Body, "\n") {
			if strings.HasPrefix(l, statusLine) && !m.At.Before(at) && d.s.At.Since(m.At) < time.Hour {
				out, at = l, m.At
			}
		}
	}
	return out
}

func (d *delivery) id(list []entry, news []fleet.Message) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s\n", d.to, stamp(d.s.At))
	for _, e := range list {
		fmt.Fprintf(h, "%s|%d|%d|%s\n", e.alert.AlertKey, e.what, e.times, stamp(e.alert.FiredAt))
	}
	for _, m := range news {
		fmt.Fprintf(h, "%s\n", m.ID)
	}
	return fmt.Sprintf("d-%016x", h.Sum64())
}

// safe makes a message fit to be sent: no control characters, no secrets, and not
// too long.
func safe(m fleet.Message) fleet.Message {
	m.Subject = fleet.Redact(fleet.Line(Clip(m.Subject, maxBody), maxSubject))
	m.Body = Clip(fleet.Redact(fleet.Text(Clip(m.Body, 4*maxBody))), maxBody)
	return m
}

// Clip cuts a text to at most max bytes, at the end of a character, and says so.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const more = "…"
	cut := max - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}
