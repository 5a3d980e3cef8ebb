package catalog

import (
	"fmt"
	"regexp"
	"time"

	"custos/internal/report/spool"
)

var spoolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// repliesSection is the section [replies].
type repliesSection struct {
	Spool string `toml:"spool" is:"path"` // the folder; "": none
	Name  string `toml:"name" is:"name"`  // of the files in it; "supervisor"
	Judge bool   `toml:"judge"`           // asks the judge of [triage] what somebody may have meant
}

// spool listens to a folder, where one is configured.
func (p *People) spool(w *World) error {
	s := repliesSection{Name: "supervisor"}
	if err := w.Config.Section("replies", &s); err != nil || s.Spool == "" {
		return err
	}
	dir, err := w.Config.Expand(s.Spool)
	if err != nil {
		return w.Config.Misread("replies.spool", err)
	}
	if !spoolName.MatchString(s.Name) {
		return w.Config.Misread("replies.name", fmt.Errorf("%q is no name of a file", s.Name))
	}
	p.Ears = append(p.Ears, spool.Inbox{Dir: dir, Name: s.Name, Now: time.Now})
	return nil
}
