"""Constructed texts in several scripts, for measuring characters per token; written for this project."""

TEXTS: dict[str, str] = {
    "english": (
        "You are a support assistant for a company that rents out tools and machines. Answer in a "
        "friendly tone, in at most three short paragraphs. If the customer asks for a price, look it up "
        "in the table before you answer, and never guess. When a machine is out of stock, offer the "
        "nearest alternative and say when the first one will be back. Customers often write late in the "
        "evening; tell them that the office opens at eight and that nothing is lost when they wait. If "
        "somebody is angry, stay calm, repeat what went wrong in your own words, and propose one clear "
        "next step. Do not promise refunds: only the branch manager can decide about money.\n\n"
        "Last week the crane stood idle for two days because the permit had been sent to the wrong "
        "address. We would like to know whether the rent for those days can be taken off the bill, and "
        "who we should talk to if this happens again. Our foreman has tried to call your branch several "
        "times without reaching anyone, which made the whole matter worse than it needed to be."
    ),
    "german and french": (
        "Bitte fassen Sie das folgende Protokoll in fünf Sätzen zusammen und nennen Sie am Ende die "
        "offenen Punkte. Die Sitzung begann um neun Uhr mit einer kurzen Vorstellung der neuen "
        "Mitarbeiterinnen. Danach wurde über die Verzögerung beim Umbau der Lagerhalle gesprochen; die "
        "Lieferung der Stahlträger verschiebt sich voraussichtlich um drei Wochen. Wegen der gestiegenen "
        "Preise soll das Angebot noch einmal geprüft werden.\n\n"
        "Vous êtes un assistant qui relit des lettres administratives. Corrigez l'orthographe et la "
        "grammaire, mais gardez le ton de l'auteur. Si une phrase est trop longue, proposez-en deux plus "
        "courtes. Le dossier que nous avons reçu hier n'était pas complet : il manquait l'attestation de "
        "domicile et la signature du propriétaire. Nous vous prions de bien vouloir nous les envoyer "
        "avant la fin du mois."
    ),
    "chinese": (
        "你是一家设备租赁公司的客服助手。请用友好的语气回答问题，每次不超过三段。如果客户询问价格，请先查表再回答，"
        "不要猜测。如果某台机器暂时没有库存，请推荐最接近的替代品，并说明原来的机器什么时候可以再次租用。"
        "客户经常在深夜写信，请告诉他们办公室早上八点开门，等待不会造成任何损失。如果有人生气，请保持冷静，"
        "用自己的话重复出了什么问题，并提出一个明确的下一步。不要承诺退款，只有分店经理才能决定费用。\n"
        "上周因为许可证寄错了地址，起重机停了两天。我们想知道这两天的租金能不能从账单中扣除，"
        "如果以后再发生这种情况应该联系谁。我们的工头已经给你们分店打了好几次电话，但是一直没有人接，"
        "这让整件事情变得更加麻烦。天气预报说明天下午有雨，工地上的材料需要提前盖好，否则木板会受潮变形。"
    ),
    "japanese": (
        "あなたは工具と機械のレンタル会社のサポート担当です。親しみやすい口調で、三段落以内で答えてください。"
        "お客様が料金を尋ねた場合は、必ず表を確認してから答え、推測してはいけません。在庫がない機械については、"
        "最も近い代わりの機種を案内し、元の機械がいつ戻るかを伝えてください。夜遅くに連絡をくださるお客様も多いので、"
        "事務所は朝八時に開くこと、待っていても何も失われないことを説明してください。怒っている方には落ち着いて対応し、"
        "何が問題だったのかを自分の言葉で繰り返し、次の一歩を一つだけ提案してください。\n"
        "先週、許可証が間違った住所に送られたため、クレーンが二日間動きませんでした。その分の料金を請求書から"
        "引いてもらえるかどうか、また同じことが起きたときに誰に相談すればよいか知りたいです。"
    ),
    "korean": (
        "당신은 공구와 기계를 빌려주는 회사의 고객 상담원입니다. 친절한 말투로 세 문단 이내로 대답하세요. "
        "고객이 가격을 물으면 반드시 표를 확인한 뒤에 답하고 절대로 추측하지 마세요. 재고가 없는 기계가 있으면 "
        "가장 비슷한 기종을 안내하고 원래 기계가 언제 돌아오는지 알려 주세요. 늦은 밤에 글을 쓰는 고객이 많으니 "
        "사무실은 아침 여덟 시에 문을 열며 기다려도 잃는 것이 없다고 설명하세요. 화가 난 고객에게는 침착하게 "
        "무엇이 잘못되었는지 자신의 말로 다시 이야기하고 분명한 다음 단계를 하나 제안하세요.\n"
        "지난주에 허가증이 잘못된 주소로 발송되어 크레인이 이틀 동안 멈춰 있었습니다. 그 기간의 임대료를 청구서에서 "
        "뺄 수 있는지, 같은 일이 다시 생기면 누구에게 연락해야 하는지 알고 싶습니다."
    ),
    "russian": (
        "Вы помощник службы поддержки в компании, которая сдаёт в аренду инструменты и машины. Отвечайте "
        "дружелюбно, не больше трёх коротких абзацев. Если клиент спрашивает о цене, сначала посмотрите в "
        "таблицу и никогда не угадывайте. Если машины нет на складе, предложите ближайшую замену и скажите, "
        "когда первая вернётся. Клиенты часто пишут поздно вечером; сообщите им, что офис открывается в "
        "восемь утра. На прошлой неделе кран простоял два дня, потому что разрешение отправили не по тому "
        "адресу. Мы хотели бы узнать, можно ли вычесть аренду за эти дни из счёта и к кому обращаться, если "
        "это случится снова."
    ),
    "arabic": (
        "أنت مساعد خدمة العملاء في شركة تؤجر الأدوات والآلات. أجب بلهجة ودية وفي ثلاث فقرات قصيرة على الأكثر. "
        "إذا سأل العميل عن السعر فابحث عنه في الجدول قبل أن تجيب ولا تخمن أبدا. وإذا كانت الآلة غير متوفرة فاقترح "
        "أقرب بديل لها واذكر متى ستعود الأولى. كثيرا ما يكتب العملاء في وقت متأخر من الليل، فأخبرهم أن المكتب يفتح "
        "في الثامنة صباحا وأن الانتظار لا يضيع شيئا. في الأسبوع الماضي توقفت الرافعة يومين لأن التصريح أرسل إلى "
        "عنوان خاطئ. نود أن نعرف هل يمكن خصم إيجار هذين اليومين من الفاتورة ومن يجب أن نتصل به إذا تكرر ذلك."
    ),
    "hindi": (
        "आप एक ऐसी कंपनी के ग्राहक सहायक हैं जो औज़ार और मशीनें किराए पर देती है। मित्रता के साथ और अधिक से अधिक तीन छोटे "
        "अनुच्छेदों में उत्तर दीजिए। यदि ग्राहक कीमत पूछे तो पहले तालिका में देखिए और कभी अनुमान मत लगाइए। यदि कोई मशीन "
        "उपलब्ध नहीं है तो सबसे मिलती-जुलती मशीन सुझाइए और बताइए कि पहली मशीन कब लौटेगी। ग्राहक अक्सर देर रात को लिखते हैं, "
        "उन्हें बताइए कि कार्यालय सुबह आठ बजे खुलता है। पिछले सप्ताह क्रेन दो दिन तक रुकी रही क्योंकि अनुमति पत्र गलत पते पर "
        "भेज दिया गया था। हम जानना चाहते हैं कि क्या इन दिनों का किराया बिल से घटाया जा सकता है।"
    ),
    "json": (
        '{"id":"ord_48213","customer":{"name":"M. Okafor","tier":"gold","since":2019},"items":[{"sku":'
        '"AX-1093-B","qty":2,"price":49.95,"tax":0.19},{"sku":"QN-7710","qty":1,"price":1299.0,"tax":'
        '0.19},{"sku":"LL-0042-Z","qty":12,"price":3.4,"tax":0.07}],"shipping":{"method":"express",'
        '"eta":"2025-03-18T09:30:00Z","lat":52.520008,"lon":13.404954},"flags":[true,false,null],'
        '"history":[{"t":1742288400,"e":"created"},{"t":1742290212,"e":"paid"},{"t":1742294871,"e":'
        '"packed"}],"notes":null,"total":1439.7,"ref":"7f3a9c1e-52d4-4b8b-9e0f-2a6c81d0b7f5"}\n'
        '{"type":"function","function":{"name":"get_stock","description":"Return the number of units '
        'in stock","parameters":{"type":"object","properties":{"sku":{"type":"string"},"branch":{'
        '"type":"integer"}},"required":["sku"]}}}'
    ),
    "code": (
        "def merge(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:\n"
        '    """Join intervals that touch or overlap."""\n'
        "    out: list[tuple[int, int]] = []\n"
        "    for start, end in sorted(intervals):\n"
        "        if out and start <= out[-1][1]:\n"
        "            out[-1] = (out[-1][0], max(out[-1][1], end))\n"
        "        else:\n"
        "            out.append((start, end))\n"
        "    return out\n\n\n"
        "class Stock:\n"
        "    def __init__(self, rows):\n"
        "        self.rows = {row['sku']: row for row in rows}\n\n"
        "    def price(self, sku, qty=1, discount=0.0):\n"
        "        row = self.rows.get(sku)\n"
        "        if row is None:\n"
        '            raise KeyError(f"unknown sku {sku!r}")\n'
        "        return round(row['price'] * qty * (1 - discount), 2)\n\n\n"
        "for (let i = 0; i < items.length; i++) {\n"
        "  const { sku, qty } = items[i];\n"
        "  if (!stock[sku] || stock[sku] < qty) { missing.push({ sku, need: qty - (stock[sku] ?? 0) }); }\n"
        "  total += (prices[sku] ?? 0) * qty;\n"
        "}\n"
    ),
    "server log": (
        "2025-03-18 09:31:07.412 ERROR [worker-3] job=8f2c1d7a retry=2/5 status=503 latency_ms=2041 "
        "url=/api/v2/orders/48213/items?page=3&size=50\n"
        "2025-03-18 09:31:09.020 INFO  [worker-3] job=8f2c1d7a retry=3/5 status=200 latency_ms=187\n"
        "2025-03-18 09:31:09.115 WARN  [pool-1] queue=0x7ffdc3a1e0 depth=412 high_water=400\n"
        '10.4.17.203 - - [18/Mar/2025:09:31:10 +0000] "GET /health HTTP/1.1" 200 17 "-" "curl/8.5.0"\n'
        "mem: 15873.2MiB used, 241.9MiB free, swap 0.0; load 3.41 2.98 2.77\n"
    ),
}
