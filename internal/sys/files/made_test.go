package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// smallTable is a table with each thing that one can have.
func smallTable() []Made {
	return []Made{
		{Name: "lock", Kind: IsFile, Begins: []string{"custos ", ""}},
		{Name: `db(-wal)?`, Kind: IsFile},
		{Name: "pinned", Kind: IsFile, Modes: []uint32{0o400}},
		{Name: "run", Kind: IsFolder, In: smallTable},
	}
}

// lay makes something of a name in a folder, at random, and returns which of it Custos
// would have made.
func lay(t *rapid.T, dir string, depth int, elsewhere string) (ours []string) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lock", "db", "db-wal", "pinned", "run", "thesis.txt", "db.txt", "xdb"} {
		path := filepath.Join(dir, name)
		what := rapid.SampledFrom([]string{"nothing", "file", "marked", "empty", "read-only", "folder", "link to a file", "link to a folder"}).Draw(t, path)
		switch what {
		case "nothing":
			continue
		case "link to a file":
			must(os.Symlink(filepath.Join(elsewhere, "db"), path))
		case "link to a folder":
			must(os.Symlink(elsewhere, path))
		case "folder":
			must(os.Mkdir(path, 0o700))
			if depth > 0 {
				below := lay(t, path, depth-1, elsewhere)
				if name == "run" {
					ours = append(ours, below...)
				}
			}
			if name == "run" {
				ours = append(ours, path)
			}
			continue
		case "read-only":
			must(os.WriteFile(path, []byte("mine"), 0o400))
		default:
			must(os.WriteFile(path, []byte(map[string]string{"file": "mine", "marked": "custos up", "empty": ""}[what]), 0o600))
		}
		isFile := !strings.HasPrefix(what, "link")
		switch name {
		case "lock":
			isFile = isFile && (what == "marked" || what == "empty")
		case "pinned":
			isFile = isFile && what == "read-only"
		case "db", "db-wal":
		default:
			isFile = false
		}
		if isFile {
			ours = append(ours, path)
		}
	}
	return ours
}

func everything(t *rapid.T, root string) (out []string) {
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNothingIsRemovedThatWasNotMade: in any tree, what goes is what was made, all of it,
// and the folders that were empty without it; what is said beforehand is what is done.
func TestNothingIsRemovedThatWasNotMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp("", "made")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		root, elsewhere := filepath.Join(top, "root"), filepath.Join(top, "elsewhere")
		for _, dir := range []string{root, elsewhere} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(elsewhere, "db"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		ours := append(lay(t, root, 2, elsewhere), root)
		before := everything(t, top)
		said := Remover{}
		if err := said.Root(root, false, smallTable()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(everything(t, top), before) {
			t.Fatal("something went without Do")
		}
		done := Remover{Do: true}
		if err := done.Root(root, false, smallTable()); err != nil {
			t.Fatal(err)
		}
		after := everything(t, top)
		for _, path := range before {
			isThere, made := slices.Contains(after, path), slices.Contains(ours, path)
			if !isThere && !made {
				t.Errorf("%s went, and was not made", path)
			}
			if isFolder := slices.ContainsFunc(after, func(p string) bool { return strings.HasPrefix(p, path+"/") }); isThere && made && !isFolder {
				t.Errorf("%s was made, and stays", path)
			}
		}
		if !slices.Equal(said.Removal.Gone, done.Removal.Gone) || len(said.Removal.Left) != len(done.Removal.Left) {
			t.Errorf("said %+v, done %+v", said.Removal, done.Removal)
		}
		for i, l := range done.Removal.Left {
			if !slices.Equal(l.Names, said.Removal.Left[i].Names) {
				t.Errorf("said %+v, done %+v", said.Removal.Left[i], l)
			}
			for _, name := range l.Names {
				if !slices.Contains(after, filepath.Join(l.Folder, name)) {
					t.Errorf("%s is said to stay in %s", name, l.Folder)
				}
			}
		}
	})
}

// TestAFolderNamedByALinkStays: what was made behind the link goes; the link and its folder,
// which somebody made, stay, and so does what else is there.
func TestAFolderNamedByALinkStays(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	for _, err := range []error{os.Mkdir(real, 0o700), os.Symlink(real, link), os.WriteFile(filepath.Join(real, "db"), nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := Remover{Do: true}
	if err := r.Root(link, false, smallTable()); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(real)
	if _, gone := os.Lstat(link); err != nil || gone != nil || len(names) != 0 {
		t.Errorf("%v, %v, %v", names, err, gone)
	}
	if len(r.Removal.Gone) != 1 || len(r.Removal.Left) != 1 || r.Removal.Left[0].Folder != link {
		t.Errorf("%+v", r.Removal)
	}
}
