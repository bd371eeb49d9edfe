package conversation

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/chant-acp/chant-acp/runtime/thread"
)

// Document is a thread as markdown, the same as its [Turns], but never
// whole in memory: the thread is read once for what has to be known before a
// turn is written, and once more to write. Turns that overlap, which those of a
// sound thread hardly do, cost a reading each.
type Document struct {
	meta   Meta
	events iter.Seq2[thread.Event, error]
	count  int // events at the first reading: a thread may grow
	turns  map[string]*outline
	order  []*outline
}

// outline is what has to be known of a turn before it is written.
type outline struct {
	position int       // in the order in which turns began
	last     int       // the index of the last event that tells something
	at       time.Time // of its answer
	marks    []int     // see blocks
	prompted bool
	begun    bool
	plan     string // as it came last
	late     *Turn  // a prompt that came after something else of its turn

	reading *turnReader // while it is read first and has not ended
}

// NewDocument reads a thread for the first time. events begins anew, with the
// same events, whenever it is ranged over. An error among them ends NewDocument,
// and Write.
func NewDocument(r thread.Record, events iter.Seq2[thread.Event, error]) (*Document, error) {
	d := &Document{meta: metaOf(r), events: events, turns: map[string]*outline{}}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if isShown(e) {
			d.outline(e)
		}
		d.count++
	}
	for _, o := range d.order {
		o.stop()
	}
	return d, nil
}

func (d *Document) outline(e thread.Event) {
	o := d.turns[e.Turn]
	if o == nil {
		o = &outline{position: len(d.order)}
		d.turns[e.Turn] = o
		d.order = append(d.order, o)
	}
	if o.reading == nil {
		o.reading = &turnReader{blocks: blocks{marks: o.marks}}
	}
	o.last = d.count
	o.reading.add(e)
	switch e.Kind {
	case thread.EventPrompt:
		if o.prompted || o.begun {
			o.late = o.reading.prompt
		}
		o.prompted, o.reading.prompt = true, nil
		return
	case thread.EventEnd:
		o.at = o.reading.at
		o.stop()
	default:
		o.at = o.reading.at
	}
	o.begun = true
}

// stop gives up what only reading needs.
func (o *outline) stop() {
	if o.reading == nil {
		return
	}
	o.reading.blocks.end()
	o.plan = cmp.Or(o.reading.plan, o.plan)
	o.marks, o.reading = o.reading.blocks.marks, nil
}

// Write writes the document.
func (d *Document) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10) // remembers its first error
	d.meta.writeMeta(b)
	for written := 0; written < len(d.order); {
		var err error
		if written, err = d.read(b, written); err != nil {
			return err
		}
	}
	return b.Flush()
}

var errChanged = errors.New("the thread was changed while it was read")

// read reads the thread and writes turns from the one at position on, up to one of
// which events have gone by meanwhile.
func (d *Document) read(b *bufio.Writer, position int) (written int, err error) {
	index, gone := 0, false
	w := d.order[position].writer(b)
	for e, err := range d.events {
		if err != nil {
			return position, err
		}
		o := d.turns[e.Turn]
		switch {
		case !isShown(e):
		case o == nil:
			return position, errChanged
		case o.position > position:
			gone = true
		case o.position == position:
			w.add(e)
			if index < o.last {
				break
			}
			w.end()
			position++
			if _, err := b.Write(nil); err != nil || gone || position == len(d.order) {
				return position, err
			}
			w = d.order[position].writer(b)
		}
		if index++; index == d.count {
			break
		}
	}
	return position, errChanged
}

// turnWriter writes one turn.
type turnWriter struct {
	*turnReader
	w       *bufio.Writer
	content content
	late    bool
}

func (o *outline) writer(b *bufio.Writer) *turnWriter {
	t := &turnWriter{w: b, content: content{lines: lines{w: b}}, late: o.late != nil}
	t.content.begin = func() { Turn{Role: Assistant, At: o.at}.canonical().writeHeading(b) }
	t.turnReader = &turnReader{blocks: blocks{write: t.content.write, marks: o.marks}, final: o.plan}
	if t.late {
		o.late.write(b)
	}
	return t
}

func (t *turnWriter) add(e thread.Event) {
	t.turnReader.add(e)
	if e.Kind == thread.EventPrompt && !t.late {
		t.prompt.write(t.w)
	}
}

func (t *turnWriter) end() {
	t.finish()
	t.content.end()
}
