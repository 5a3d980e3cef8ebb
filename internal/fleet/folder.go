package fleet

import (
	"cmp"
	"fmt"
)

// FolderID is which folder one is: what is put at the same path later is another.
type FolderID struct {
	Boot   string `json:"boot"` // numbers of devices hold for one
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Born   int64  `json:"born,omitempty"`    // nanoseconds since 1970; 0 where its file system does not say
	Common string `json:"common,omitempty"`  // git folder of the repository whose worktree it is; "" for none
	GitDir string `json:"git_dir,omitempty"` // its own git folder there, by which that names it
}

// Same says whether both are one folder, whatever is in it. An inode is given anew when
// its folder is gone, so that when it was made counts too. The number of a device is
// asked only where that is not known, and within one boot.
func (f FolderID) Same(o FolderID) bool {
	if f.Born != 0 && o.Born != 0 {
		return f.Inode == o.Inode && f.Born == o.Born
	}
	return f.Inode == o.Inode && (f.Device == o.Device || f.Boot != o.Boot)
}

// Place is the folder that an agent is registered to work in; "" when it is not known.
func (r Registration) Place() string { return cmp.Or(r.Worktree, r.Dir) }

// Other says why a folder is not the one that an agent was started in last, as far as its
// record says; "" when it is. repo is the git folder of its repository; "" where that is
// not known. A person may have made it again: then only another's repository is another.
func (r Registration) Other(now FolderID, repo string, person bool) string {
	if person && (r.Folder != nil && now.Common == r.Folder.Common || r.Worktree == "") {
		return ""
	}
	if how := r.differs(now, repo); how != "" {
		return fmt.Sprintf("the folder at %q is not the one that it worked in: %s", r.Place(), how)
	}
	return ""
}

func (r Registration) differs(now FolderID, repo string) string {
	switch was := r.Folder; {
	case was == nil && r.Worktree != "" && r.Repo != "" && (repo == "" || now.Common != repo):
		return "it is no worktree of " + r.Repo
	case was == nil:
		return ""
	case r.Worktree != "" && now.Common != was.Common:
		return "it is no worktree of " + cmp.Or(r.Repo, was.Common)
	case r.Worktree != "" && now.GitDir != was.GitDir:
		return "it is another worktree of its repository"
	case !was.Same(now):
		return "it was put there since"
	}
	return ""
}
