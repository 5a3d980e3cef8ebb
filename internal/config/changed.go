package config

import (
	"bytes"
	"os"
	"time"
)

// ChangedWithin says whether the file was changed so lately, and holds something else now than what was
// read. What cannot be read says nothing.
func (c Config) ChangedWithin(lately time.Duration) bool {
	info, err := os.Stat(c.File)
	if err != nil || time.Since(info.ModTime()) > lately {
		return false
	}
	text, err := os.ReadFile(c.File)
	return err == nil && !bytes.Equal(text, c.Text)
}
