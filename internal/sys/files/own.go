package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrNotOwn says that a file is not our user's alone: another user owns it, or may
// write to it, so that what it says may be another user's word.
var ErrNotOwn = errors.New("it is not our user's alone: another user owns it, or its group or others may write to it")

// OpenOwn opens a regular file to read it, like OpenRegular, and fails with
// ErrNotOwn unless our user owns it and no other user may write to it.
func OpenOwn(path string) (*os.File, Info, error) {
	f, info, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, Info{}, err
	}
	if int(info.UID) != os.Geteuid() || info.Mode&0o022 != 0 {
		f.Close()
		return nil, Info{}, ErrNotOwn
	}
	return f, info, nil
}

// ReadOwn reads a file like OpenOwn, and tells when it was changed. More than most
// bytes is an error.
func ReadOwn(path string, most int64) (string, time.Time, error) {
	f, info, err := OpenOwn(path)
	if err != nil {
		return "", time.Time{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("cannot read %s: it has more than %d bytes", path, most)
	}
	return string(text), info.Modified(), err
}
