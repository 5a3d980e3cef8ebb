package runs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/testreport"
)

// tests reads the report of a step that has ended, and nothing else that could: what it says is on
// record with how the step ended, or after a crash is read once more.
func (a *attempted) tests(began fleet.Instant) (out fleet.TestReport) {
	in, err := a.opened(began)
	if err != nil {
		return fleet.TestReport{Why: a.unread(err)}
	}
	defer in.Close()
	got, err := testreport.Read(in, a.work)
	out = fleet.TestReport{Ran: got.Ran, Failed: names(got.Failed), More: got.More, Flaky: names(got.Flaky)}
	if err != nil {
		out.Why = a.unread(err)
	}
	return out
}

func (a *attempted) unread(err error) string {
	what := "its report " + a.report
	if a.report == fleet.ReportOutput {
		what = "its report on standard output"
	}
	return fleet.Redact(fleet.Line(fmt.Sprintf("cannot read %s: %v", what, err), 300))
}

// names are names of tests as they may be kept and shown.
func names(list []string) (out []string) {
	for _, name := range list {
		out = append(out, fleet.Redact(fleet.Line(name, 200)))
	}
	return out
}

func (a *attempted) opened(began fleet.Instant) (io.ReadCloser, error) {
	if a.report != fleet.ReportOutput {
		return a.openReport(began)
	}
	return openOutput(filepath.Join(a.dir, "stdout.log"))
}

// openReport opens the report in the worktree: no link leads out of it, nothing is waited for, and
// what was there before the step began is none of its words (a branch may have brought it).
func (a *attempted) openReport(began fleet.Instant) (io.ReadCloser, error) {
	root, err := os.OpenRoot(a.work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(a.report, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it is not there")
	}
	if err != nil {
		return nil, err
	}
	info, err := files.Stat(f)
	switch {
	case errors.Is(err, files.ErrNotRegular):
		err = files.ErrNotRegular
	case err == nil && !written(info.Modified(), began, a.p.o.Now()):
		err = errors.New("it was there before the step began")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// output is what a step has printed: of much the end, in two files.
type output struct {
	io.Reader
	all []*os.File
}

func (o *output) Close() error {
	for _, f := range o.all {
		f.Close()
	}
	return nil
}

// openOutput opens what a step printed: what was set aside when the log was full comes first.
func openOutput(log string) (io.ReadCloser, error) {
	o := &output{}
	var parts []io.Reader
	for _, name := range []string{log + ".1", log} {
		f, _, err := files.OpenRegular(name, os.O_RDONLY)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			o.Close()
			return nil, err
		}
		o.all, parts = append(o.all, f), append(parts, f)
	}
	if len(parts) == 0 {
		return nil, errors.New("it is not there")
	}
	o.Reader = io.MultiReader(parts...)
	return o, nil
}
