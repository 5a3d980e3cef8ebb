package web

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"custos/internal/api"
)

// An hour from nine on, in minutes.
func minute(n int) time.Time { return time.Date(2026, 11, 24, 9, n, 0, 0, time.UTC) }

func loads(values map[int]float64, blind ...int) (out []sample) {
	for n := range 61 {
		if v, ok := values[n]; ok {
			out = append(out, sample{minute(n), &v})
		} else if slices.Contains(blind, n) {
			out = append(out, sample{At: minute(n)})
		}
	}
	return out
}

// The drawings of a few series lie in testdata; CUSTOS_UPDATE=1 writes them anew.
func TestPlotsAreDrawn(t *testing.T) {
	steady := map[int]float64{}
	for n := range 61 {
		steady[n] = 1 + float64(n%10)/10
	}
	broken := map[int]float64{0: 1, 1: 2, 2: 3, 20: 3, 21: 4, 23: 2, 40: 1, 60: 0}
	all, err := parsePages()
	if err != nil {
		t.Fatal(err)
	}
	for name, samples := range map[string][]sample{"steady": loads(steady), "broken": loads(broken, 22), "nothing": nil, "unseen": loads(nil, 3, 4, 5), "alone": loads(map[int]float64{30: 2})} {
		p := draw(series{"load", "Load", samples, 4, func(v float64) string { return fmt.Sprintf("%.1f", v) }}, minute(0), minute(60))
		var b bytes.Buffer
		if err := all["host"].ExecuteTemplate(&b, "plot", p); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/plot-" + name + ".svg"
		if os.Getenv("CUSTOS_UPDATE") != "" {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, b.Bytes(), want)
		}
	}
}

// Whatever is known, and not: the line goes through known values alone, no line is drawn
// where a value was not seen or two readings are missing, each known value is within the
// drawing, and the lowest and the highest are on it.
func TestALineIsOnlyWhereValuesAreKnown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s series
		s.title, s.write = "Load", func(v float64) string { return fmt.Sprint(v) }
		for n := range rapid.IntRange(0, 400).Draw(rt, "readings") {
			switch rapid.IntRange(0, 9).Draw(rt, "kind") {
			case 0: // missing
			case 1:
				s.samples = append(s.samples, sample{At: minute(n)})
			default:
				v := rapid.Float64Range(0, 100).Draw(rt, "value")
				s.samples = append(s.samples, sample{minute(n), &v})
			}
		}
		at := map[string]bool{}
		from, to := minute(0), minute(400)
		p := draw(s, from, to)
		top, known := s.top()
		for _, one := range s.samples {
			if one.Value != nil {
				x := plotLeft + (plotWide-plotLeft-plotRight)*float64(one.At.Sub(from))/float64(to.Sub(from))
				at[unit(x)+" "+unit(plotTop+(plotHigh-plotTop-plotBottom)*(1-*one.Value/top))] = true
			}
		}
		lines, points := 0, len(p.Dots)
		for _, piece := range strings.FieldsFunc(strings.ReplaceAll(p.Path, "M", "\nM"), func(r rune) bool { return r == '\n' }) {
			lines++
			for _, point := range strings.FieldsFunc(piece, func(r rune) bool { return r == 'M' || r == 'L' }) {
				if points++; !at[point] {
					rt.Fatalf("a line goes through %q, where no value is", point)
				}
			}
		}
		for _, d := range p.Dots {
			if !at[d.X+" "+d.Y] {
				rt.Fatalf("a dot at %v, where no value is", d)
			}
		}
		if runs := s.runs(); lines+len(p.Dots) != len(runs) || (known > 0) != p.Known || (points > 0) != p.Known {
			rt.Fatalf("%d lines and %d dots of %d runs, %d points of %d values", lines, len(p.Dots), len(runs), points, known)
		}
		if known == 0 && (len(p.Gaps) != 1 || !strings.Contains(p.Says, "nothing is known")) {
			rt.Fatalf("nothing is known, and it says %q", p.Says)
		}
	})
}

// The peaks of very many readings are drawn, and few points.
func TestAPeakOfTwoDaysIsDrawn(t *testing.T) {
	var r api.Readings
	r.Since, r.At = minute(0), minute(2880)
	for n := range 2880 {
		v := 1.0
		if n == 1441 {
			v = 50
		}
		r.Readings = append(r.Readings, api.Reading{At: minute(n), CPUs: 4, Load: &v})
	}
	load := plots(r)[2]
	if n := strings.Count(load.Path, "L"); n > 1300 || len(load.Gaps) != 0 || !strings.Contains(load.Path, unit(plotTop)) || !strings.Contains(load.Says, "between 1.0 and 50.0") {
		t.Errorf("%d points, gaps %v, %q", n, load.Gaps, load.Says)
	}
	if memory := plots(r)[0]; memory.Known || memory.Path != "" {
		t.Errorf("memory, which is not known, is drawn: %+v", memory)
	}
}

// The page has each plot in words and as a table, in which a time of which nothing is known
// says so; without readings the rest of the page is shown.
func TestPlotsCanBeReadWithoutSeeing(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/preflight"] = api.Preflight{}
	load := 1.5
	w.answers["GET /v1/readings"] = api.Readings{Since: minute(0), At: minute(60), Readings: []api.Reading{{At: minute(1), CPUs: 2, Load: &load}, {At: minute(2), CPUs: 2, Load: &load}, {At: minute(59), CPUs: 2}}}
	doc := parsed(t, w.get(t, "/host?since=1h"))
	if w.queries["GET /v1/readings"] != "since=1h" {
		t.Errorf("asked for %q", w.queries["GET /v1/readings"])
	}
	section := byID(t, doc, "plots")
	for _, svg := range all(section, func(n *html.Node) bool { return n.Data == "svg" }) {
		if title := byID(t, doc, attr(svg, "aria-labelledby")); attr(svg, "role") != "img" || text(title) == "" {
			t.Errorf("a plot without words: %s", text(title))
		}
	}
	var rows []string
	for _, tr := range all(section, func(n *html.Node) bool { return hasAttr(n, "data-reading") }) {
		rows = append(rows, text(tr))
	}
	if len(rows) != rowsOfReadings || !strings.Contains(rows[11], "2unknownunknown1.5unknown") && !strings.Contains(rows[11], "2 unknown unknown 1.5 unknown") || !strings.Contains(rows[5], "unknown unknown unknown unknown") {
		t.Errorf("the table: %q", rows)
	}
	w.answers["GET /v1/readings"] = &api.Error{Kind: api.Internal, Message: "the ledger cannot be read"}
	doc = parsed(t, w.get(t, "/host"))
	if got := text(byID(t, doc, "plots")); !strings.Contains(got, "What was before is not known: the ledger cannot be read") || len(all(doc, func(n *html.Node) bool { return attr(n, "id") == "parts" })) != 1 {
		t.Errorf("without readings: %q", got)
	}
}
