package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// enter makes a world of the mount namespace that it is in, and goes on in it as the tests:
// the folder world is empty, and lies in memory, as does whatever is written elsewhere. How full
// the machine's disk is thus changes nothing of what a Custos in it says: CI was red once for
// want of room that no test needed. It returns only when that cannot be had.
func enter(world string) int {
	err := mount("tmpfs", world, 0, "")
	if err == nil {
		if cannot := leaveDisk(world); cannot != nil { // rules on disks then tell of the machine's
			fmt.Fprintln(os.Stderr, "the world has the machine's disk:", cannot)
		}
		err = os.Setenv("CUSTOS_PRIVATE_WORLD", "entered")
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "cannot enter a world:", err)
	return 1
}

func mount(kind, at string, flags uintptr, data string) error {
	if err := unix.Mount(kind, at, kind, flags, data); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", kind, at, err)
	}
	return nil
}

// leaveDisk makes the root folder one whose changes lie in the memory that is mounted at world.
func leaveDisk(world string) error {
	layer := func(name string) string { return filepath.Join(world, name) }
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(layer(name), 0o755); err != nil {
			return err
		}
	}
	mounted, err := topMounts(world)
	if err != nil {
		return err
	}
	root := layer("root")
	if err := mount("overlay", root, 0, "lowerdir=/,upperdir="+layer("upper")+",workdir="+layer("work")); err != nil {
		return err
	}
	for _, at := range mounted {
		if err := unix.Mount(at, root+at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return errors.Join(fmt.Errorf("cannot take %s along: %w", at, err), unix.Unmount(root, unix.MNT_DETACH))
		}
	}
	if err := mount("tmpfs", root+world, 0, ""); err != nil {
		return errors.Join(err, unix.Unmount(root, unix.MNT_DETACH))
	}
	return turnTo(root)
}

// topMounts are the places below the root folder where something is mounted, but those that lie
// in another one and world.
func topMounts(world string) (out []string, err error) {
	all, err := procfs.GetMounts()
	if err != nil {
		return nil, err
	}
	var places []string
	for _, m := range all {
		places = append(places, m.MountPoint)
	}
	slices.Sort(places)
	for _, p := range slices.Compact(places) {
		within := func(top string) bool { return strings.HasPrefix(p+"/", top+"/") }
		if p != "/" && !within(world) && !slices.ContainsFunc(out, within) {
			out = append(out, p)
		}
	}
	return out, nil
}

// turnTo makes root the root folder, and leaves the one before it behind.
func turnTo(root string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return errors.Join(fmt.Errorf("cannot change the root folder: %w", err), os.Chdir(here))
	}
	return errors.Join(unix.Unmount(".", unix.MNT_DETACH), os.Chdir(here))
}

// A machine whose disk is nearly full has no alert in a world.
func TestTheDiskOfAWorldIsItsOwn(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("grep", "-q", "overlay", "/proc/filesystems").CombinedOutput(); err != nil {
		t.Skipf("this kernel has no overlay: %v %s", err, out)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/", &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type != unix.OVERLAYFS_SUPER_MAGIC || fs.Bavail < fs.Blocks/2 {
		t.Errorf("its root is a file system of type %x with %d of %d blocks free", fs.Type, fs.Bavail, fs.Blocks)
	}
}
