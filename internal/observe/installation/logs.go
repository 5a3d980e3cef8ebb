package installation

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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

// linesOf counts what of the end of a log is no JSON. The first line may be cut off by
// where the reading began, and the last may just be written.
func linesOf(path string) doctor.LogLines {
	out := doctor.LogLines{Path: path}
	text, cut, err := end(path)
	if err != nil {
		out.Err = fleet.Line(fmt.Sprintf("cannot read %s: %v", path, err), 200)
	}
	for line := range strings.Lines(text) {
		if cut || !strings.HasSuffix(line, "\n") || strings.TrimSpace(line) == "" {
			cut = false
			continue
		}
		if out.Read++; json.Valid([]byte(line)) {
			continue
		}
		if out.Broken++; out.First == "" {
			out.First = fleet.Redact(fleet.Line(line, 60))
		}
	}
	return out
}

// end reads the end of a log; cut says that there is more before it.
func end(path string) (text string, cut bool, err error) {
	f, info, err := files.OpenRegular(fleet.RawPath(path), os.O_RDONLY)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	from := max(0, info.Size-tailRead)
	read, err := io.ReadAll(io.NewSectionReader(f, from, info.Size-from))
	return string(read), from > 0, err
}
