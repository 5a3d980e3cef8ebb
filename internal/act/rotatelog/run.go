package rotatelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

type run struct {
	x       *Action
	id      string // of the action: an archive of the same one is not made twice
	path    string
	f       *os.File
	before  files.Info
	cut     int64  // bytes that go
	packed  bool   // they are in the archive
	why     string // they are not
	trimmed string // what became of archives beyond those to be kept
}

// Do implements act.Run. Nothing is cut before the archive is on disk under
// its name, unless there is no room for one.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot rotate: %w", err)
	}
	info, err := files.Lstat(r.path)
	if err != nil || !info.Same(r.before.Identity) || info.Size < r.before.Size {
		return fmt.Errorf("cannot rotate: the log was replaced or shrank meanwhile: %w", act.ErrRefused)
	}
	if r.cut, r.packed = r.resumed(); !r.packed {
		if r.cut, err = cutAt(r.f, info.Size, r.x.keep); err != nil {
			return err
		}
		if err := r.pack(ctx); err != nil {
			return err
		}
	}
	if err := r.shorten(); err != nil {
		return err
	}
	if r.packed {
		r.trimmed = trim(r.path, r.x.archives)
	}
	return nil
}

// shorten takes the head out of the log.
func (r *run) shorten() error {
	if !r.x.o.NoCollapse {
		err := collapse(r.f, r.cut)
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
			return err
		}
	}
	return copyDown(r.f, r.cut)
}

// cutAt returns where the kept tail begins: at most keep bytes before the end,
// at the start of a line when one begins there.
func cutAt(f io.ReaderAt, size, keep int64) (int64, error) {
	from := size - keep
	b := make([]byte, keep)
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("cannot read the end of the log: %w", err)
	}
	if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
		return from + int64(i) + 1, nil
	}
	return from, nil
}

// collapse takes the whole blocks of the head out of the file in one step.
// What is left of it in the first block is blanked: it is no whole line.
func collapse(f *os.File, cut int64) error {
	var st unix.Stat_t
	err := control(f, func(fd int) error { return unix.Fstat(fd, &st) })
	if err != nil {
		return fmt.Errorf("cannot cut the log: %w", err)
	}
	whole := cut / int64(st.Blksize) * int64(st.Blksize)
	if whole == 0 {
		return unix.EINVAL
	}
	if err := control(f, func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_COLLAPSE_RANGE, 0, whole)
	}); err != nil {
		return fmt.Errorf("cannot take the head out of the log: %w", err)
	}
	rest := cut - whole
	if rest == 0 {
		return nil
	}
	blank := append(bytes.Repeat([]byte{' '}, int(rest-1)), '\n')
	if _, err := f.WriteAt(blank, 0); err != nil {
		return fmt.Errorf("cannot blank the half line at the start of the log: %w", err)
	}
	return nil
}

// copyDown copies what follows cut to the front, again and again until nothing
// was appended meanwhile, and truncates at once.
func copyDown(f *os.File, cut int64) error {
	buf := make([]byte, 256<<10)
	to, from := int64(0), cut
	for {
		n, err := f.ReadAt(buf, from)
		if n > 0 {
			if to+int64(n) > cut {
				return errors.New("cannot rotate: the log is written to faster than it can be copied")
			}
			if _, err := f.WriteAt(buf[:n], to); err != nil {
				return fmt.Errorf("cannot copy the end of the log to its front: %w", err)
			}
			to, from = to+int64(n), from+int64(n)
			continue
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("cannot read the end of the log: %w", err)
		}
		if err := f.Truncate(to); err != nil {
			return fmt.Errorf("cannot truncate the log: %w", err)
		}
		return nil
	}
}

// Verify implements act.Run: the log must be small, and fewer bytes be on disk.
func (r *run) Verify(context.Context) (string, error) {
	now, err := files.Stat(r.f)
	if err != nil {
		return "", fmt.Errorf("cannot measure the log: %w", err)
	}
	freed := r.before.Blocks - now.Blocks
	if now.Size > r.x.limit && freed <= 0 {
		return "", fmt.Errorf("cannot show that it worked: the log has %s, and takes %s on disk", size(now.Size), size(now.Blocks))
	}
	if !r.packed {
		return fmt.Sprintf("log cut from %s to %s, %s freed; no archive was made and the head was dropped, its lines are gone: %s", size(r.before.Size), size(now.Size), size(freed), r.why), nil
	}
	archive, err := files.Lstat(archiveName(r.path))
	if err != nil {
		return "", fmt.Errorf("cannot find the archive of the log's head: %w", err)
	}
	return fmt.Sprintf("log cut from %s to %s, %s freed; its head is in %s%s", size(r.before.Size), size(now.Size),
		size(freed-archive.Blocks), fleet.Path(archiveName(r.path)), r.trimmed), nil
}

// Close implements act.Run.
func (r *run) Close() { r.f.Close() }

func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := conn.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}
