package installation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// tailRead is how much of the end of a log is read for broken lines, in bytes.
const tailRead = 256 << 10

// logLines reads the ends of the logs that should be one JSON value a line, by
// their names, of those that were seen.
func logLines(seen []fleet.Log) (out []doctor.LogLines) {
	for _, l := range seen {
		if ext := filepath.Ext(l.Path); ext == ".jsonl" || ext == ".ndjson" {
			out = append(out, linesOf(l.Path))
		}
	}
	return out
}

func linesOf(path string) doctor.LogLines {
	out := doctor.LogLines{Path: path}
	f, info, err := files.OpenRegular(fleet.RawPath(path), os.O_RDONLY)
	if err != nil {
		out.Err = fleet.Line(fmt.Sprintf("cannot read %s: %v", path, err), 200)
		return out
	}
	defer f.Close()
	from := max(0, info.Size-tailRead)
	text := make([]byte, info.Size-from)
	n, err := f.ReadAt(text, from)
	if err != nil && err != io.EOF {
		out.Err = fleet.Line(fmt.Sprintf("cannot read %s: %v", path, err), 200)
		return out
	}
	count(&out, text[:n], from > 0)
	return out
}

// count counts whole lines: the first may be cut off by where the reading began,
// and the last may just be written.
func count(out *doctor.LogLines, text []byte, cut bool) {
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return
		}
		if text = rest; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if out.Read++; json.Valid(line) {
			continue
		}
		if out.Broken++; out.First == "" {
			out.First = fleet.Redact(fleet.Line(string(line), 60))
		}
	}
}
