package testreport

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const shop = "example.com/shop/"

// What tools have written, of real runs but for surefire.xml, is read as people read it. Each name
// of a file, or what is in it, has the tool and its version.
func TestWhatToolsWrite(t *testing.T) {
	goes := []string{shop + "calc TestAdd/negative/deep", shop + "calc TestFails", shop + "panics TestPanics"}
	for _, c := range []struct {
		file, root string
		want       Report
	}{
		{"go-1.26.8.json", "", Report{Ran: 10, Failed: append([]string{shop + "broken [build failed]"}, goes...)}},
		{"gotestsum.xml", "", Report{Ran: 10, Failed: append([]string{shop + "broken TestMain"}, goes...)}},
		{"gotestsum-rerun.xml", "", Report{Ran: 2, Flaky: []string{"example.com/flaky TestSometimes"}}},
		{"pytest.xml", "", Report{Ran: 8, Failed: []string{"pytest tests.test_import", "tests.test_calc.TestAdd test_negative", "tests.test_calc test_each[2]", "tests.test_calc test_needs", "tests.test_calc test_ends_badly"}}},
		{"vitest.xml", "", Report{Ran: 5, Failed: []string{"vt/broken.test.ts", "vt/calc.test.ts calc > negative > adds <&>"}}},
		{"vitest-3.2.7.json", "/tmp/rep/js", Report{Ran: 5, Failed: []string{"vt/broken.test.ts", "vt/calc.test.ts calc negative adds <&>"}}},
		{"jest-30.5.2.json", "/tmp/rep/js/", Report{Ran: 4, Failed: []string{"jt/calc.test.js calc negative adds <&>", "jt/broken.test.js"}}},
		{"jest-junit.xml", "", Report{Ran: 5, Failed: []string{"calc negative adds <&>", "Test suite failed to run jt/broken.test.js"}}},
		{"surefire.xml", "", Report{Ran: 5, Failed: []string{"shop.CalcTest fails", "shop.CalcTest errs"}, Flaky: []string{"shop.CalcTest sometimes"}}},
	} {
		f, err := os.Open(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := Read(f, c.root); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, %v; want\n%+v", c.file, got, err, c.want)
		}
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		failed     []string
		wrong      string // part of the error; none: there is none
	}{
		{"nothing", "", nil, "it is neither JUnit XML"},
		{"words", "ok\nall is well", nil, "it is neither JUnit XML"},
		{"another XML", "<html><p>testcase</p></html>", nil, "it is neither JUnit XML"},
		{"another JSON", `{"a":[1,{"b":2}]}`, nil, "it is neither JUnit XML"},
		{"an odd testResults", `{"testResults":3}`, nil, "it is neither JUnit XML"},
		{"no case", "<testsuites></testsuites>", nil, ""},
		{"words before", "> shop@1.0 test\n\n  <testsuite><testcase name=\"a\"><failure/></testcase></testsuite>", []string{"a"}, ""},
		{"a byte order mark", "\uFEFF<testsuite><testcase name=\"a\"><error/></testcase></testsuite>", []string{"a"}, ""},
		{"nested suites", `<testsuites><testsuite name="o"><testsuite name="i"><testcase name="a"><failure/></testcase></testsuite><testcase name="b"><failure/></testcase></testsuite></testsuites>`, []string{"i a", "o b"}, ""},
		{"a suite that fails", `<testsuite name="o"><error/><testcase name="a"/></testsuite>`, []string{"o"}, ""},
		{"a failure of no case", `<testsuite name="o"><testcase name="a"><properties><failure/></properties></testcase></testsuite>`, nil, ""},
		{"a namespace", `<x:testsuite xmlns:x="u"><x:testcase name="a"><x:failure/></x:testcase></x:testsuite>`, []string{"a"}, ""},
		{"cut off in a tag", `<testsuite><testcase name="a"><failure/></testcase><testcase na`, []string{"a"}, "it ends in its middle"},
		{"cut off between", `<testsuite><testcase name="a"><failure/></testcase>`, []string{"a"}, "it ends in its middle"},
		{"crossed", `<testsuite><testcase name="a"><failure/></testcase></x>`, []string{"a"}, "</x> ends what did not begin"},
		{"entities", `<!DOCTYPE t [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><testsuite><testcase name="a"><failure/></testcase><testcase name="&c;"/></testsuite>`, []string{"a"}, "invalid character entity &c;"},
		{"a file of the machine", `<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"><failure/></testcase></testsuite>`, nil, "invalid character entity &a;"},
		{"another encoding", `<?xml version="1.0" encoding="utf-16"?><testsuite/>`, nil, `its encoding "utf-16" is not read`},
		{"as deep as a well", strings.Repeat("<testsuite>", 101), nil, "more than 100 in one another"},
		{"failed, then passed", `<testsuite><testcase name="a"><failure/></testcase><testcase name="a"/></testsuite>`, nil, ""},
		{"passed, then failed", `<testsuite><testcase name="a"/><testcase name="a"><failure/></testcase></testsuite>`, []string{"a"}, ""},
		{"a package that ends without a test", `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"fail","Package":"p"}`, []string{"p [package failed]"}, ""},
		{"a package that ends in a test", `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"run","Package":"p","Test":"B"}` + "\n" + `{"Action":"run","Package":"p","Test":"A"}` + "\n" + `{"Action":"fail","Package":"p"}`, []string{"p A", "p B"}, ""},
		{"a package above another", `{"Action":"fail","Package":"p"}` + "\n" + `{"Action":"fail","Package":"p/q","Test":"T"}` + "\n" + `{"Action":"fail","Package":"p/q"}`, []string{"p [package failed]", "p/q T"}, ""},
		{"events among words", "make: go test\n" + `{"Action":"fail","Package":"p","Test":"T"}` + "\nmake: failed\n" + `{"Action":"fail","Package":"p"}` + "\n", []string{"p T"}, ""},
		{"events cut off", `{"Action":"fail","Package":"p","Test":"T"}` + "\n" + `{"Action":"pass","Pack`, []string{"p T"}, "it ends in its middle"},
		{"a broken event", `{"Action":"pass","Package":"p"}` + "\n" + `{"Action":` + "\n", nil, "1 lines of it cannot be read"},
		{"suites cut off", `{"numFailedTests":2,"testResults":[{"name":"f","assertionResults":[{"fullName":"a","status":"failed"}]},{"na`, []string{"f a"}, "it ends in its middle"},
		{"a title only", `{"testResults":[{"name":"f","assertionResults":[{"title":"a","status":"failed"}]}]}`, []string{"f a"}, ""},
		{"no UTF-8", "{\"testResults\":[{\"name\":\"f\",\"assertionResults\":[{\"title\":\"\xff\",\"status\":\"failed\"}]}]}", []string{"f \uFFFD"}, ""},
	} {
		got, err := Read(strings.NewReader(c.text), "")
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !slices.Equal(got.Failed, c.failed) || (c.wrong == "") != (said == "") || !strings.Contains(said, c.wrong) {
			t.Errorf("%s: %v, %q; want %v, %q", c.name, got.Failed, said, c.failed, c.wrong)
		}
	}
}

// endless is a text that is said again and again.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e.text[(e.read+n)%len(e.text):])
	}
	e.read += n
	return n, nil
}

// Whatever comes, so much is read and no more, and so many names are kept.
func TestBounds(t *testing.T) {
	one := `<testcase name="` + strings.Repeat("ü", 300) + `"><failure/></testcase>`
	for name, c := range map[string]struct{ text, wrong string }{
		"cases":      {one, "it is larger than 16 MiB"},
		"attributes": {`a=""` + " ", "larger than 4 MiB"},
		"words":      {"word ", "larger than 4 MiB"},
	} {
		in := &endless{text: c.text}
		head := "<testsuite>"
		if name == "attributes" {
			head = "<testsuite "
		}
		_, err := Read(io.MultiReader(strings.NewReader(head), in), "")
		if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if in.read > mostBytes+1<<20 {
			t.Errorf("%s: %d bytes were read", name, in.read)
		}
	}
	var b strings.Builder
	b.WriteString("<testsuite>")
	for n := range 251 {
		b.WriteString(`<testcase name="` + strings.Repeat("ü", n+1) + `"><failure/></testcase>`)
	}
	got, err := Read(strings.NewReader(b.String()+"</testsuite>"), "")
	if err != nil || len(got.Failed) != 200 || got.More != 1 { // those of more than 200 runes are cut to the same
		t.Errorf("%d, %d, %v", len(got.Failed), got.More, err)
	}
	for _, name := range got.Failed {
		if utf8.RuneCountInString(name) > 200 {
			t.Errorf("%q is too long", name)
		}
	}
}

func FuzzJUnit(f *testing.F) { fuzz(f, ".xml") }

func FuzzEvents(f *testing.F) { fuzz(f, "go-1.26.8.json") }

func FuzzSuites(f *testing.F) { fuzz(f, "t-3.2.7.json", "t-30.5.2.json") }

// fuzz begins with what tools have written, whole and cut off.
func fuzz(f *testing.F, ends ...string) {
	all, err := filepath.Glob("testdata/*.*")
	if err != nil || len(all) == 0 {
		f.Fatalf("%v, %v", all, err)
	}
	for _, name := range all {
		if !slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		f.Add(string(text[:len(text)/2]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := Read(strings.NewReader(text), "/tmp")
		again, _ := Read(strings.NewReader(text), "/tmp")
		if !reflect.DeepEqual(got, again) {
			t.Errorf("%+v, then %+v", got, again)
		}
		if len(got.Failed) > mostNames || len(got.Flaky) > mostNames || got.More > 0 && len(got.Failed) < mostNames || len(got.Failed)+got.More+len(got.Flaky) > got.Ran {
			t.Errorf("%+v", got)
		}
		for _, name := range append(got.Failed, got.Flaky...) {
			if utf8.RuneCountInString(name) > mostRunes || !utf8.ValidString(name) {
				t.Errorf("%q", name)
			}
		}
	})
}
