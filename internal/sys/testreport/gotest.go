package testreport

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test string
	FailedBuild           string // of a package: what could not be built for it
}

// goRun is where the reading of events is, of each package that has begun and not ended.
type goRun struct {
	*book
	packages map[string]*goPackage
	broken   int
}

type goPackage struct {
	failed  bool            // a test of it has
	running map[string]bool // tests of it that have begun and not ended
}

// readEvents reads line by line. What is no event is no part of the report: it comes from what
// ran beside go test.
func (b *book) readEvents(r *bufio.Reader) error {
	g := &goRun{book: b, packages: map[string]*goPackage{}}
	for {
		text, long, err := line(r)
		var e event
		switch {
		case errors.Is(err, io.EOF):
			return g.whole()
		case err != nil:
			return err
		case long || len(text) == 0 || text[0] != '{':
		case json.Unmarshal(text, &e) != nil:
			g.broken++
		case e.Test != "":
			g.test(e)
		case e.Package != "":
			g.pack(e)
		}
	}
}

func (g *goRun) whole() error {
	switch {
	case len(g.packages) > 0:
		return errors.New("it ends in its middle")
	case g.broken > 0:
		return fmt.Errorf("%d lines of it cannot be read", g.broken)
	}
	return nil
}

func (g *goRun) of(name string) *goPackage {
	p := g.packages[name]
	if p == nil {
		p = &goPackage{running: map[string]bool{}}
		g.packages[name] = p
	}
	return p
}

func (g *goRun) test(e event) {
	p := g.of(e.Package)
	switch e.Action {
	case "run":
		p.running[e.Test] = true
		return
	case "pass":
		g.add(e.Package, e.Test, passed)
	case "skip":
		g.add(e.Package, e.Test, skipped)
	case "fail":
		p.failed = true
		g.add(e.Package, e.Test, failed)
	default:
		return
	}
	delete(p.running, e.Test)
}

// pack is about a package as a whole. One that fails without a test that does could not be built,
// or has ended in the middle: then that is named, and what ran at that moment.
func (g *goRun) pack(e event) {
	switch p := g.of(e.Package); {
	case e.Action == "fail" && e.FailedBuild != "":
		g.add("", e.Package+" [build failed]", failed)
	case e.Action == "fail" && !p.failed && len(p.running) == 0:
		g.add("", e.Package+" [package failed]", failed)
	case e.Action == "fail" && !p.failed:
		for _, test := range slices.Sorted(maps.Keys(p.running)) {
			g.add(e.Package, test, failed)
		}
	case e.Action != "pass" && e.Action != "skip" && e.Action != "fail":
		return
	}
	delete(g.packages, e.Package)
}
