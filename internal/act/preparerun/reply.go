package preparerun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// repliesTold is how many replies of people, the newest, a prompt holds.
const repliesTold = 4

// takesReply says whether the prompt is to hold a reply that no agent was given yet.
func takesReply(r fleet.Run) bool { return r.Session != nil && r.Session.Answer == fleet.AnswerDue }

// takeReply takes the reply that the prompt is to hold out of the spool, by one
// rename, so that no other run takes it and what is written next is another one. A
// try before this one may have taken it.
func (r *run) takeReply() error {
	if !takesReply(r.r) {
		return nil
	}
	taken := r.r.TakenReply(r.r.Session.Answers)
	err := own(taken)
	for _, file := range r.r.ReplyFiles() {
		if errors.Is(err, fs.ErrNotExist) {
			err = claim(file, taken)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot take the reply: %w", err)
	}
	return nil
}

// putReplyBack has a reply lie in the spool again, under the run's name, that was taken
// and told nobody: its number is given to the next one. What lies there by now is that.
func (r *run) putReplyBack() error {
	if !takesReply(r.r) {
		return nil
	}
	file := r.r.ReplyFiles()[0]
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(r.r.TakenReply(r.r.Session.Answers), file); err != nil {
		return fmt.Errorf("cannot put the reply back: %w", err)
	}
	return nil
}

// openSpool makes the folder of replies, so that people can reply, and it can be
// watched. Without it, custos formula resume --reply makes it.
func (r *run) openSpool() {
	if spool := r.r.ReplyFiles(); spool != nil {
		if err := os.MkdirAll(filepath.Dir(spool[0]), 0o700); err != nil {
			r.notes = append(r.notes, "without a folder of replies: "+fleet.Line(err.Error(), 100))
		}
	}
}

// claim moves a reply, and puts it back when it turns out to be another's.
func claim(file, taken string) error {
	if err := own(file); err != nil {
		return err
	}
	if err := os.Rename(file, taken); err != nil {
		return err
	}
	if err := own(taken); err != nil { // it was exchanged just then
		return errors.Join(err, os.Rename(taken, file))
	}
	return nil
}

// own says whether a file is our user's alone.
func own(path string) error {
	f, _, err := files.OpenOwn(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// replies is what people replied in this run, the newest last.
func (r *run) replies(s *fleet.RunSession) string {
	var b strings.Builder
	for n := max(1, s.Answers-repliesTold+1); n <= s.Answers; n++ {
		text := r.reply(n)
		switch {
		case text == "":
		case n < s.Answers:
			fmt.Fprintf(&b, "A person's reply to an earlier question:\n\n%s\n\n", text)
		default:
			fmt.Fprintf(&b, "The session before this one asked a person: %s\nThis is the person's reply, in the person's own words:\n\n%s\n", fleet.Line(s.Asks, 300), text)
		}
	}
	return b.String()
}

// reply is the text of one reply, whether it is filed or not.
func (r *run) reply(n int) string {
	for _, path := range []string{r.r.TakenReply(n), r.r.FiledReply(n)} {
		if own(path) != nil {
			continue
		}
		text, size, err := head(path, replyMax)
		if err != nil {
			continue
		}
		if text = strings.TrimSpace(fleet.Text(text)); size > replyMax {
			text += fmt.Sprintf("\n(cut: %d of %d bytes)", replyMax, size)
		}
		return text
	}
	return ""
}
