package host

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// unreal are the types that hold no files of anyone's: views of the kernel, and
// read-only images, which are full by nature.
var unreal = strings.Fields(`autofs bdev binder binfmt_misc bpf cgroup cgroup2 configfs cpuset debugfs devfs
	devpts devtmpfs efivarfs erofs fusectl fuse.gvfsd-fuse fuse.lxcfs fuse.portal fuse.snapfuse hugetlbfs
	iso9660 mqueue nfsd none nsfs overlay pipefs proc pstore ramfs resctrl rootfs rpc_pipefs securityfs
	selinuxfs smackfs sockfs squashfs sysfs tmpfs tracefs udf`)

// evenSo are the places where even such a type matters: the root of a container
// (overlay), and folders for scratch files in memory.
var evenSo = map[string]string{"/": "overlay", "/tmp": "tmpfs", "/var/tmp": "tmpfs"}

// notFolders are single files that container engines mount over others.
var notFolders = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}

// of returns what is to be shown of all that is mounted, by mount point: whatever holds
// one of the folders, of any type, too.
func (c Mounts) of(all []*procfs.MountInfo, folders []string) []*procfs.MountInfo {
	top := topmost(all)
	holders := holding(top, folders)
	out := slices.DeleteFunc(top, func(i *procfs.MountInfo) bool {
		return !c.wants(i) && !slices.Contains(holders, i) || matches(c.Exclude, unescape(i.MountPoint))
	})
	if len(c.Include) == 0 {
		out = oncePerDevice(out)
	}
	slices.SortFunc(out, func(a, b *procfs.MountInfo) int { return cmp.Compare(a.MountPoint, b.MountPoint) })
	return out
}

// holding returns the mount that each folder lies on.
func holding(top []*procfs.MountInfo, folders []string) (out []*procfs.MountInfo) {
	for _, f := range folders {
		var on *procfs.MountInfo
		for _, i := range top {
			if at := unescape(i.MountPoint); (at == "/" || f == at || strings.HasPrefix(f, at+"/")) && (on == nil || len(at) > len(unescape(on.MountPoint))) {
				on = i
			}
		}
		if on != nil {
			out = append(out, on)
		}
	}
	return out
}

func (c Mounts) wants(i *procfs.MountInfo) bool {
	if len(c.Include) > 0 {
		return matches(c.Include, unescape(i.MountPoint))
	}
	if slices.Contains(notFolders, i.MountPoint) {
		return false
	}
	return !slices.Contains(unreal, i.FSType) || evenSo[i.MountPoint] == i.FSType
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name) // New has checked the patterns
		return ok
	})
}

// topmost drops what another mount on the same point hides: the later one.
func topmost(all []*procfs.MountInfo) []*procfs.MountInfo {
	last := map[string]*procfs.MountInfo{}
	for _, i := range all {
		last[i.MountPoint] = i
	}
	out := make([]*procfs.MountInfo, 0, len(last))
	for _, i := range all {
		if last[i.MountPoint] == i {
			out = append(out, i)
		}
	}
	return out
}

// oncePerDevice keeps one mount of each file system: its whole tree rather than
// a folder of it (a bind mount), and the shortest path.
func oncePerDevice(all []*procfs.MountInfo) []*procfs.MountInfo {
	best := map[string]*procfs.MountInfo{}
	for _, i := range all {
		if old := best[i.MajorMinorVer]; old == nil || better(i, old) {
			best[i.MajorMinorVer] = i
		}
	}
	return slices.DeleteFunc(all, func(i *procfs.MountInfo) bool { return best[i.MajorMinorVer] != i })
}

func better(a, b *procfs.MountInfo) bool {
	if whole := a.Root == "/"; whole != (b.Root == "/") {
		return whole
	}
	return cmp.Or(cmp.Compare(len(a.MountPoint), len(b.MountPoint)), cmp.Compare(a.MountPoint, b.MountPoint)) < 0
}
