// Gets a URL by URL.openStream and by HttpClient; prints both bodies.
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Get {
	public static void main(String[] words) throws Exception {
		URI uri = URI.create(words[0]);
		uri.toURL().openStream().transferTo(System.out);
		HttpResponse<String> answer = HttpClient.newHttpClient().send(
			HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
		System.out.print(answer.body());
		if (answer.statusCode() != 200)
			throw new IOException("status " + answer.statusCode());
	}
}
