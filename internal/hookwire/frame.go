package hookwire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame is the length of a JSON text, in four bytes, big end first, and the
// text. maxFrame holds a post with a full payload, which JSON carries in base64.
const maxFrame = 128 << 10

// errOversize is a frame longer than any that is sent. The stream cannot be
// read on from there.
var errOversize = errors.New("cannot read frame: it is too long")

// BadPost is the error of a frame that was read whole, but holds no post that
// can be taken. The stream can be read on.
type BadPost struct{ Err error }

func (e *BadPost) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *BadPost) Unwrap() error { return e.Err }

// WritePost sends a post, in one write.
func WritePost(w io.Writer, p Post) error { return writeFrame(w, p) }

// ReadPost reads one post. The error is a *BadPost when only this post is lost;
// io.EOF at the end of the stream.
func ReadPost(r io.Reader) (Post, error) {
	b, err := readFrame(r)
	if err != nil {
		return Post{}, err
	}
	p, err := decodePost(b)
	if err != nil {
		return Post{}, &BadPost{err}
	}
	return p, nil
}

// WriteAck sends an answer, in one write.
func WriteAck(w io.Writer, a Ack) error { return writeFrame(w, a) }

// ReadAck reads one answer.
func ReadAck(r io.Reader) (Ack, error) {
	b, err := readFrame(r)
	if err != nil {
		return Ack{}, err
	}
	var a Ack
	if err := json.Unmarshal(b, &a); err != nil {
		return Ack{}, fmt.Errorf("cannot read answer: %w", err)
	}
	if a.V != Version {
		return Ack{}, fmt.Errorf("cannot read answer: it is of version %d, this one reads version %d", a.V, Version)
	}
	return a, nil
}

func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write frame: %w", err)
	}
	if len(b) > maxFrame {
		return errOversize
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errOversize
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, noEOF(err)
	}
	return b, nil
}

// noEOF keeps a stream that ends inside of a frame from looking like its end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
