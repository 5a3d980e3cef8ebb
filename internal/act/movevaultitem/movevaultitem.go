// Package movevaultitem holds the actions "approve-vault-item" and "reject-vault-item":
// each moves a pending item of a vault to the folder that says so, as it was shown, for a
// person who said so of just that one. It reads nothing of an item but its digest, and
// dispatches nothing.
package movevaultitem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// The names of the actions.
const (
	Approve = "approve-vault-item"
	Reject  = "reject-vault-item"
)

// Action implements act.Action for one of the two.
type Action struct {
	do string
	to string // the folder
}

// New returns the action of that name.
func New(do string) *Action {
	if do == Reject {
		return &Action{do, string(fleet.VaultRejected)}
	}
	return &Action{do, string(fleet.VaultApproved)}
}

// Ability implements act.Action. An item that lies there already is not moved again.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: x.do, Idempotent: true, Singly: true, Touches: []fleet.PartName{fleet.PartVaults}, Deadline: fleet.Duration(10 * time.Second)}
	if x.do == Approve {
		a.Denied = Reject
	}
	return a
}

// place is where an item lies, and where it goes to.
type place struct{ root, name string }

// placeOf returns it; false for what is no pending item of a vault.
func placeOf(v *fleet.VaultItem) (place, bool) {
	if v == nil || v.State != fleet.VaultPending || v.Digest == "" {
		return place{}, false
	}
	path := fleet.RawPath(v.Path)
	from := filepath.Dir(path)
	return place{filepath.Dir(from), filepath.Base(path)}, filepath.IsAbs(path) && filepath.Base(from) == string(fleet.VaultPending)
}

func (p place) in(folder string) string { return fleet.Path(filepath.Join(p.root, folder, p.name)) }

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	p, ok := placeOf(a.Target.Vault)
	if !ok {
		return nil
	}
	return []fleet.Command{{Argv: []string{"mv", "-n", p.in(string(fleet.VaultPending)), p.in(x.to)}, Note: "only while it is the file with SHA-256 " + a.Target.Vault.Digest}}
}

// Prepare implements act.Action: the very file that was shown, and a person who answered.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	v := a.Target.Vault
	p, ok := placeOf(v)
	switch {
	case v == nil:
		return nil, errors.New("cannot move it: the target is no item of a vault")
	case !ok:
		return nil, refused(v, "it is no pending item of a vault")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot look at %s: %w", v.Name, ctx.Err())
	case a.Approved == "":
		return nil, refused(v, "no person has said so")
	case !v.Owner.MayTouch():
		return nil, refused(v, "its vault is only watched")
	}
	r := &run{item: *v, place: p, folder: x.to, want: files.Identity(v.File)}
	if err := r.look(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func refused(v *fleet.VaultItem, why string) error {
	return fmt.Errorf("cannot move %s: %s: %w", v.Name, why, act.ErrRefused)
}

type run struct {
	item     fleet.VaultItem
	place    place
	folder   string // it goes to
	want     files.Identity
	from, to files.Folder
	file     *os.File
	text     []byte // as it was shown
	mode     fs.FileMode
	copied   bool // it lies there already, by a Custos that ended half-way
	close    []func()
}

// look opens the two folders and the file, holds on to them, and reads the file.
func (r *run) look() error {
	root, err := files.OpenFolder(r.place.root)
	if err != nil {
		return fmt.Errorf("cannot look into vault %s: %w", r.item.Vault, err)
	}
	defer root.Close()
	if r.from, err = r.folderOf(root, string(fleet.VaultPending)); err != nil {
		return err
	}
	if r.to, err = r.folderOf(root, r.folder); err != nil {
		return err
	}
	there := r.there()
	file, info, err := r.from.OpenRegular(r.place.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && there == r.item.Digest:
		return fmt.Errorf("%s is in %s: %w", r.item.Name, r.folder, act.ErrUnneeded)
	case errors.Is(err, fs.ErrNotExist):
		return refused(&r.item, "it is not there any more, and somebody else moved it")
	case errors.Is(err, files.ErrNotRegular):
		return refused(&r.item, "it is no regular file any more")
	case err != nil:
		return fmt.Errorf("cannot open %s: %w", r.item.Name, err)
	}
	r.file, r.mode, r.close = file, info.Mode&^0o022, append(r.close, func() { file.Close() })
	if r.copied = there == r.item.Digest; there != "" && !r.copied {
		return refused(&r.item, "another file of its name lies in "+r.folder)
	}
	return r.read(info)
}

func (r *run) folderOf(root files.Folder, name string) (files.Folder, error) {
	f, err := root.Folder(name)
	if err != nil {
		return f, refused(&r.item, fmt.Sprintf("there is no folder %s in %s", name, fleet.Path(r.place.root)))
	}
	r.close = append(r.close, f.Close)
	return f, nil
}

// read reads the item: it is what was shown, byte for byte.
func (r *run) read(info files.Info) (err error) {
	if info.Identity != r.want {
		return refused(&r.item, "it was replaced or written to since it was shown")
	}
	if r.text, err = files.Head(r.file, int(r.want.Size)); err != nil {
		return fmt.Errorf("cannot read %s: %w", r.item.Name, err)
	}
	if digestOf(r.text) != r.item.Digest {
		return refused(&r.item, "it is not what was shown")
	}
	return nil
}

// there is the digest of what lies where the item goes to; "" for nothing.
func (r *run) there() string {
	f, info, err := r.to.OpenRegular(r.place.name)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	unknown := "no digest"
	if err != nil {
		return unknown
	}
	defer f.Close()
	text, err := files.Head(f, int(min(info.Size, r.want.Size+1)))
	if err != nil {
		return unknown
	}
	return digestOf(text)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Do implements act.Run. What lies there afterwards is what was shown, byte for byte, and
// Custos's own, so that who may write to the item cannot change it any more. What was put in
// its place meanwhile is another item, and waits.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot move %s: %w", r.item.Name, err)
	}
	if info, err := r.from.Lstat(r.place.name); err != nil || info.Identity != r.want {
		return refused(&r.item, "it was replaced or written to since it was shown")
	}
	if !r.copied {
		if err := r.to.Put(r.place.name, r.text, r.mode); err != nil {
			return fmt.Errorf("cannot move %s to %s: %w", r.item.Name, r.folder, err)
		}
	}
	err := r.from.Remove(r.place.name, r.file, r.want)
	if err != nil && !errors.Is(err, files.ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is in %s, and cannot be taken away: %w", r.folder, err)
	}
	return nil
}

// Verify implements act.Run. The dispatcher may have taken it on already.
func (r *run) Verify(context.Context) (string, error) {
	if info, err := r.from.Lstat(r.place.name); err == nil && info.Same(r.want) {
		return "", fmt.Errorf("cannot show that %s was moved: it is still there", r.item.Name)
	}
	switch r.there() {
	case "":
		return "moved to " + r.place.in(r.folder) + ", and taken on from there", nil
	case r.item.Digest:
		return "moved to " + r.place.in(r.folder), nil
	}
	return "", fmt.Errorf("cannot find %s where it was moved to: %s", r.item.Name, r.place.in(r.folder))
}

// Close implements act.Run.
func (r *run) Close() {
	for _, f := range r.close {
		f()
	}
}
