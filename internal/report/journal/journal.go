// Package journal keeps one Markdown file a day.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/files"
)

// Dir is the folder the journal lives in.
type Dir string

var _ report.Journal = Dir("")

// Append adds an entry to the file of its day (UTC), which it creates with a
// heading. The entry goes out in one write, so that two writers never mix.
func (d Dir) Append(at fleet.Instant, entry string) error {
	day := at.Wall.UTC().Format("2006-01-02")
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return fmt.Errorf("cannot make the journal folder: %w", err)
	}
	name := filepath.Join(string(d), day+".md")
	f, err := files.OpenToWrite(name, os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("cannot open the journal: %w", err)
	}
	text := entry
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		text = "# Journal of " + day + "\n\n" + entry
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// longest is many times what the entries of a day come to, in bytes.
const longest = 256 << 20

// Days lists the days that have a file, oldest first.
func (d Dir) Days() ([]string, error) {
	names, err := filepath.Glob(filepath.Join(string(d), "????-??-??.md"))
	if err != nil {
		return nil, err
	}
	days := make([]string, 0, len(names))
	for _, n := range names {
		days = append(days, strings.TrimSuffix(filepath.Base(n), ".md"))
	}
	slices.Sort(days)
	return days, nil
}

// Read returns the file of a day ("2026-11-20"; empty: the newest), and its day.
func (d Dir) Read(day string) (text, of string, err error) {
	if day == "" {
		days, err := d.Days()
		if err != nil || len(days) == 0 {
			return "", "", err
		}
		day = days[len(days)-1]
	}
	b, err := files.Read(filepath.Join(string(d), filepath.Base(day)+".md"), longest)
	if err != nil {
		return "", day, fmt.Errorf("cannot read the journal of %s: %w", day, err)
	}
	return string(b), day, nil
}
