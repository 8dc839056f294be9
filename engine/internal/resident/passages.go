package resident

// Passage is a stretch of the text that is embedded of a document, in bytes, with its vector.
type Passage struct {
	Start, Length int32
	Vector        []float32
}

// passages are those of all documents, by row. Like slots, no row is used twice.
type passages struct {
	vectors
	of     []int32           // the slot of a row's document
	bounds [][2]int32        // start and length
	rows   map[int32][]int32 // by slot
}

// add gives the document of a slot further passages.
func (p *passages) add(slot int32, all ...Passage) {
	if p.dims == 0 {
		return
	}
	for _, passage := range all {
		p.rows[slot] = append(p.rows[slot], int32(len(p.of)))
		p.of, p.bounds = append(p.of, slot), append(p.bounds, [2]int32{passage.Start, passage.Length})
		p.vectors.add(passage.Vector)
	}
}

// kill takes out the passages of a slot.
func (p *passages) kill(slot int32) {
	for _, row := range p.rows[slot] {
		p.vectors.set(row, nil)
	}
	delete(p.rows, slot)
}

// PassageCosine is the cosine of a question and a passage of a document.
type PassageCosine struct {
	No            int32
	Start, Length int32
	Cosine        float64
}

// Passages gives the passages of documents, by their numbers, with their cosines.
func (x *Index) Passages(numbers []int32, vector []float32) (all []PassageCosine) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p := &x.passages
	if p.dims != len(vector) {
		return nil
	}
	probe := p.vectors.probe(vector)
	for _, no := range numbers {
		slot, known := x.slotOf(no)
		if !known {
			continue
		}
		for _, row := range p.rows[slot] {
			all = append(all, PassageCosine{no, p.bounds[row][0], p.bounds[row][1], p.cosine(row, probe)})
		}
	}
	return all
}
