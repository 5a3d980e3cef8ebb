package rotatelog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"custos/internal/sys/files"
)

// reserve is what must stay free beside an archive: 64 MiB.
const reserve = 64 << 20

// pack writes the head into the archive, after older ones moved aside, or says
// why it is dropped instead.
func (r *run) pack(ctx context.Context) error {
	free, err := r.x.o.Room(r.path)
	if err != nil {
		return fmt.Errorf("cannot tell whether there is room for the head: %w", err)
	}
	need := r.cut/5 + reserve
	if free < need {
		r.why = fmt.Sprintf("only %s free, its archive may need %s", size(free), size(need))
		return nil
	}
	err = r.write(ctx)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		r.why = "the disk was full before it was packed"
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot pack the log's head: %w", err)
	}
	r.packed = true
	return nil
}

// write makes the archive whole under another name. Only when it is on disk
// the older ones move aside, and it is renamed. What was begun is taken away again.
func (r *run) write(ctx context.Context) error {
	name := packingName(r.path)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // left by a crash, and not to be taken away
	}
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(name) // no more than a failure once it is renamed
	defer tmp.Close()
	if err := r.squeeze(ctx, tmp); err != nil {
		return err
	}
	if err := tmp.Chmod(r.before.Mode); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := tmp.Chown(int(r.before.UID), int(r.before.GID)); err != nil {
			return err
		}
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := shift(r.path); err != nil {
		return err
	}
	if err := os.Rename(name, archiveName(r.path)); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(r.path))
}

func (r *run) squeeze(ctx context.Context, to io.Writer) error {
	z := gzip.NewWriter(to)
	z.Comment = r.mark(r.cut)
	head := io.NewSectionReader(r.f, 0, r.cut)
	if _, err := io.Copy(z, &cancellable{ctx, head}); err != nil {
		return err
	}
	return z.Close()
}

// mark is what an archive says of itself: whose it is, of which file, and
// where that was cut.
func (r *run) mark(cut int64) string {
	return fmt.Sprintf("custos rotate-log %q inode %d cut %d", r.id, r.before.Inode, cut)
}

// resumed says whether the archive of this very action is already there and the
// log not yet cut: a crash came in between. The cut must then be the same.
func (r *run) resumed() (cut int64, ok bool) {
	f, _, err := files.OpenRegular(archiveName(r.path), os.O_RDONLY)
	if err != nil || r.id == "" {
		return 0, false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return 0, false
	}
	var id string
	var inode uint64
	if _, err := fmt.Sscanf(z.Comment, "custos rotate-log %q inode %d cut %d", &id, &inode, &cut); err != nil {
		return 0, false
	}
	if id != r.id || inode != r.before.Inode || cut <= 0 || cut > r.before.Size {
		return 0, false
	}
	return cut, endsAlike(z, r.f, cut)
}

// endsAlike compares the last bytes before the cut with those of the archive.
// Cut logs differ there; one that was only copied down in part does not.
func endsAlike(archive io.Reader, log io.ReaderAt, cut int64) bool {
	n := min(cut, 64<<10)
	if _, err := io.CopyN(io.Discard, archive, cut-n); err != nil {
		return false
	}
	packed, err := io.ReadAll(archive)
	if err != nil || int64(len(packed)) != n {
		return false
	}
	there := make([]byte, n)
	_, err = log.ReadAt(there, cut-n)
	return err == nil && bytes.Equal(packed, there)
}

// cancellable ends a copy with its context.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
